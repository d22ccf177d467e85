# Polyhead: `make site` builds the website, `make serve` shows it, `make test` runs every check.
PYTHON ?= python3
RUN := .venv/bin/python
SITE := _build/html
PAGES := _config.yml _toc.yml $(shell find book src/polyglot_book -type f -not -name '*.pyc' -not -path '*/.ipynb_checkpoints/*')

.PHONY: help environment site serve test notebooks translations sync mark check lint format fonts bench clean

help:                       ## say what each target does
	@sed -n 's/^\([a-z]*\):[^#]*## /make \1\t/p' $(MAKEFILE_LIST) | expand -t 20

environment:                ## make or update .venv; does nothing when it is up to date
	@command -v $(PYTHON) >/dev/null || { echo "Python 3.11 or later is missing: apt-get install python3 python3-venv"; exit 1; }
	@$(PYTHON) src/polyglot_book/environment.py

site: $(SITE)/index.html    ## build the website and say where it is
	@echo "The site: file://$(CURDIR)/$(SITE)/index.html (make serve shows it)"

$(SITE)/index.html: $(PAGES) | environment
	@echo "Building the site ..."
	@.venv/bin/jupyter-book build . -W --keep-going -n --quiet >/dev/null || { rm -rf _build; exit 1; }
	@touch $@

serve: site                 ## show the website on this machine
	@$(RUN) -m polyglot_book serve

test: site lint             ## run every check: code, translations, notebooks, pages in a browser
	@echo "Running the tests ..."
	@$(RUN) -m pytest -q -n auto --dist loadfile

notebooks: environment      ## execute the chapters that changed; ALL=1 executes all of them
	@$(RUN) -m polyglot_book notebooks $(if $(ALL),--all)

translations: environment   ## which cell of which language is current, stale or missing
	@$(RUN) -m polyglot_book translations

sync: environment           ## copy the English code cells to the other languages
	@$(RUN) -m polyglot_book sync

mark: environment           ## record that a translation is up to date: make mark CELL=ko/01-single-head#why-scale
	@$(RUN) -m polyglot_book mark "$(CELL)"

check: environment          ## every check of the text and the notebooks, without executing anything
	@$(RUN) -m polyglot_book check

lint: environment           ## style and types of the Python code
	@echo "Checking style and types ..."
	@.venv/bin/ruff check --quiet . && .venv/bin/ruff format --check --quiet . && .venv/bin/mypy --no-error-summary

format: environment         ## put the Python code into the project's style
	@.venv/bin/ruff check --fix --quiet . ; .venv/bin/ruff format --quiet .

fonts: environment          ## cut the figures' CJK fonts out of Noto Sans CJK (Debian: fonts-noto-cjk)
	@$(RUN) -m polyhead.fonts.subset

bench: environment          ## measure seven ways to attend, and generation; QUICK=1 takes a minute
	@$(RUN) -m benchmarks $(if $(QUICK),--quick)

clean:                      ## remove what was built; the environment stays
	rm -rf _build
