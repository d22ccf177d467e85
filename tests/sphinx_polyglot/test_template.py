"""`polyglot init --new`: the book that it lays out is checked and built at once, in any two languages."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from polyglot_book.__main__ import main
from tests.building import Built, build
from tests.pages import value

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def new(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """A new book in English and Welsh, for which `sphinx_polyglot` brings no words."""
    root = tmp_path_factory.mktemp("new") / "tea"
    assert main(["init", "--new", str(root), "--language", "cy"]) == 0
    return build(root)


def test_it_builds_without_a_warning_in_both_languages(new: Built) -> None:
    warnings = [line for line in new.warnings if not line.startswith("[IPKernelApp]")]  # of the kernel
    assert (new.code, warnings) == (0, []), new.log
    for code, name in (("en", "English"), ("cy", "Cymraeg")):
        page = new.page(f"book/{code}/milk")
        assert value(page.root, "lang") == code
        assert page.css_first(".polyglot-switcher summary").text().strip().endswith(name)
        assert "after half an hour: 41.5 °C and 39.8 °C" in page.css_first("article").text()  # executed
        assert "Two curves that fall" in value(page.css_first(".cell_output img"), "alt")
        assert "Isaac Newton" in page.css_first("article .citation, article dl").text()
        page = new.page(f"book/{code}/cooling")
        assert page.css_first("span.eqno").text().startswith("(1)")
        # The other language's pages are below the first page of all, and numbered on their own.
        assert re.fullmatch(r"\w+\. 1", page.css_first(".std-numref").text())
        link = new.page(f"book/{code}/milk").css_first("a[href='cooling.html#equation-cooling']")
        assert link.text() == "(1)"


def test_what_has_no_translation_is_seen(new: Built) -> None:
    article = new.page("book/cy/cooling").css_first("article").text()
    assert article.count("This part is not translated yet.") == 2
    assert "This part" not in new.page("book/en/cooling").css_first("article").text()
    assert re.search(r"cy: \d+ words of the interface have no translation: \S+cy.yml", new.log)
    assert "Skip to main content" in new.page("book/cy/cooling").root.text()


def test_its_check_lists_the_texts_that_wait_and_nothing_else(
    new: Built, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--root", str(new.root), "check", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)["violations"]
    assert {each["problem"] for each in found} == {"not translated yet"}
    texts = {"a-cup-of-tea", "a-cup-cools", "half-an-hour", "the-milk", "the-two-curves", "sources"}
    assert {each["cell"] for each in found} == texts | {"the-two-curves-code"}


def test_its_workflow_is_as_this_repository_s_own(new: Built) -> None:
    text = (new.root / ".github/workflows/book.yml").read_text()
    ours = {each for path in (ROOT / ".github/workflows").glob("*.yml") for each in uses(path.read_text())}
    assert uses(text) <= ours
    jobs = yaml.safe_load(text)["jobs"]
    assert jobs["publish"]["permissions"] == {"pages": "write", "id-token": "write"}
    commands = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    assert {"polyglot check --annotations", "jupyter-book build . -W --keep-going"} <= {*commands}


def uses(workflow: str) -> set[str]:
    return set(re.findall(r"uses: (\S+)", workflow))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "expected a --language other than en, got None"),
        (["--language", "en"], "expected a --language other than en, got en"),
        (["--language", "ko", "--reference", "ko"], "expected a --language other than ko, got ko"),
        (["--language", "xx"], "expected the code of a language, such as de or zh-TW, got 'xx'"),
        (["--language", "zh-tw"], "expected a code such as 'en', 'zh-TW' or 'zh-Hant-TW', got 'zh-tw'"),
        (["--language", "de", "--reference", "xx"], "got 'xx'"),
    ],
)
def test_what_cannot_be_laid_out_is_named_and_nothing_written(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["init", "--new", str(tmp_path / "book"), *arguments]) == 1
    assert message in capsys.readouterr().err
    assert not (tmp_path / "book").exists()


def test_a_folder_with_files_stays_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes").write_text("mine")
    assert main(["init", "--new", str(tmp_path), "--language", "de"]) == 1
    assert "expected an empty folder, or none; it has files" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["notes"]


def test_an_empty_folder_and_another_first_language(tmp_path: Path) -> None:
    arguments = ["init", "--new", str(tmp_path), "--language", "en", "--reference", "no"]
    subprocess.run([sys.executable, "-m", "polyglot_book", *arguments], check=True, capture_output=True)
    config = yaml.safe_load((tmp_path / "_config.yml").read_text())["sphinx"]["config"]
    languages = config["polyglot_languages"]
    assert [(code, each["name"]) for code, each in languages.items()] == [("no", "norsk"), ("en", "English")]
    assert (tmp_path / "book/en/images/cups.svg").is_file()
