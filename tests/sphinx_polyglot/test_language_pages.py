"""Where pages are, in every language, and what search engines learn of it: by hand, without a build."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from docutils import nodes
from sphinx.errors import ConfigError

from polyglot_book.config import Language
from sphinx_polyglot import navigation
from sphinx_polyglot.navigation import alternates_of, commit_dates, refresh_outdated_pages, write_sitemap
from sphinx_polyglot.pages import (
    Pages,
    direction,
    is_fallback,
    page_url,
    read_environment,
    site_address,
    source_file,
)
from sphinx_polyglot.prose import Search, search_pages
from sphinx_polyglot.strings import current_language, in_language

EN = Language("en", "en", "English", "Ponds")
KO = Language("ko", "ko", "한국어", "연못")
FA = Language("fa", "fa_IR", "فارسی", "برکه")
FOUND = {
    "intro", "book/en/index", "book/ko/index", "book/fa/index", "book/en/carp", "book/ko/carp",
    "book/fa/carp", "book/en/eel", "book/ko/mud", "book/en/about",
}  # fmt: skip


def pages(root: str = "intro", folder: str = "book") -> Pages:
    return Pages({each.code: each for each in (EN, KO, FA)}, folder, ("book/en/about",), root)


def app_of(own: Pages | None = None, srcdir: Path = Path("/src"), **config: Any) -> Any:
    """What Sphinx gives to an extension, as far as these functions read it."""
    own = own or pages()
    settings = {"html_baseurl": "https://ponds.org/deep", "html_theme": "furo", "_polyglot_pages": own}
    return SimpleNamespace(
        srcdir=str(srcdir),
        config=SimpleNamespace(**settings | config),
        builder=SimpleNamespace(
            format="html",
            get_target_uri=lambda name: f"{name}.html",
            get_relative_uri=lambda start, to: f"{start} to {to}",
        ),
        env=SimpleNamespace(
            found_docs={*FOUND},
            polyglot_fallbacks={"book/fa/carp"},
            doc2path=lambda name: str(srcdir / f"{name}.ipynb"),
            toctree_includes={"book/ko/index": ["book/ko/carp"], "book/ko/carp": ["book/ko/mud"]},
        ),
    )


def rendered(app: Any, text: str) -> list[Any]:
    """Let templates give this text; return the list of the names and contexts that they will get."""
    given: list[Any] = []

    def render(name: str, context: dict[str, Any]) -> str:
        given.append((name, context))
        return text

    app.builder.templates = SimpleNamespace(render=render)
    return given


# ---- pages and their languages


def test_the_language_of_a_page_is_that_of_its_folder() -> None:
    names = ["book/en/carp", "book/ko/a/b", "book/en/about", "book/korean", "carp", "book/de/carp"]
    assert [pages().language_of(name) for name in names] == [EN, KO, EN, None, None, None]
    assert pages(folder="").language_of("fa/carp") == FA
    assert pages().reference == EN


def test_home_is_index_or_the_first_page_s_name() -> None:
    assert [pages().home(each) for each in (EN, KO)] == ["book/en/index", "book/ko/index"]
    assert pages("book/en/start").home(KO) == "book/ko/start"
    assert pages("en/start", "").home(FA) == "fa/start"


def test_a_counterpart_has_the_same_name() -> None:
    found = {
        name: [pages().counterpart(name, each, FOUND) for each in (EN, KO)]
        for name in ("book/fa/carp", "book/en/eel", "intro", "book/en/about")
    }
    assert found == {
        "book/fa/carp": ["book/en/carp", "book/ko/carp"],
        "book/en/eel": ["book/en/eel", None],
        "intro": [None, None],
        "book/en/about": ["book/en/about", None],
    }
    assert pages().counterpart("book/en/about", EN, ()) is None


def test_the_configuration_is_read_once_and_what_is_wrong_is_sphinx_s_error() -> None:
    languages = {"en": {"locale": "en", "name": "English", "title": "Ponds"}}
    values = {"polyglot_folder": "a/b", "polyglot_shared": ["a/b/en/x"], "root_doc": "a/b/en/y"}
    config: Any = SimpleNamespace(polyglot_languages=languages, **values)
    read = Pages.from_config(config)
    assert (read.languages["en"], read.folder, read.shared, read.root) == (
        EN, "a/b", ("a/b/en/x",), "a/b/en/y",
    )  # fmt: skip
    config.polyglot_languages = {}
    assert Pages.from_config(config) is read
    wrong: Any = SimpleNamespace(polyglot_languages={}, **values)
    with pytest.raises(ConfigError, match="non-empty"):
        Pages.from_config(wrong)


def test_a_fallback_is_a_page_of_the_environment_s_list() -> None:
    env = app_of().env
    assert [is_fallback(env, each) for each in ("book/fa/carp", "book/ko/carp")] == [True, False]
    del env.polyglot_fallbacks
    assert not is_fallback(env, "book/fa/carp")


@pytest.mark.parametrize(
    ("code", "locale", "expected"),
    [
        ("en", "en", "ltr"), ("he", "he_IL", "rtl"), ("x", "ur_PK", "rtl"), ("iw", "x", "rtl"),
        ("pa-Arab", "pa_PK", "rtl"), ("ks", "ks_IN@arab", "rtl"), ("ur-Latn", "ur_PK", "ltr"),
        ("far", "far_AR", "rtl"), ("aar", "aa_ET", "ltr"),
    ],
)  # fmt: skip
def test_direction(code: str, locale: str, expected: str) -> None:
    assert direction(Language(code, locale, "", "")) == expected


# ---- addresses


def test_the_environment_has_the_last_word_on_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    config: Any = SimpleNamespace(html_baseurl="https://a.org", polyglot_repository="https://b.org")
    for name in ("POLYGLOT_BASEURL", "POLYGLOT_REPOSITORY"):
        monkeypatch.delenv(name, raising=False)
    read_environment(app_of(), config)
    assert (config.html_baseurl, config.polyglot_repository) == ("https://a.org", "https://b.org")
    monkeypatch.setenv("POLYGLOT_BASEURL", "https://c.org")
    monkeypatch.setenv("POLYGLOT_REPOSITORY", "https://d.org")
    read_environment(app_of(), config)
    assert (config.html_baseurl, config.polyglot_repository) == ("https://c.org", "https://d.org")


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("https://ponds.org/deep", "https://ponds.org/deep/"), ("https://ponds.org//", "https://ponds.org/"),
        ("", ""), ("ponds", ""), ("https://ponds.example/x", ""), ("https://example.org", "https://example.org/"),
    ],
)  # fmt: skip
def test_an_address_ends_with_a_slash_and_no_placeholder_is_one(address: str, expected: str) -> None:
    app = app_of(html_baseurl=address)
    assert site_address(app.config) == expected
    assert page_url(app, "book/ko/carp") == f"{expected}book/ko/carp.html"


def test_an_index_has_the_address_of_its_folder() -> None:
    found = [page_url(app_of(), each) for each in ("index", "book/ko/index", "book/ko/myindex")]
    assert found == [f"https://ponds.org/deep/{each}" for each in ("", "book/ko/", "book/ko/myindex.html")]


@pytest.mark.parametrize(("folder", "stem"), [("book", "ko/carp"), ("", "book/ko/carp")])
def test_the_source_of_a_notebook_is_its_chapter(tmp_path: Path, folder: str, stem: str) -> None:
    app = app_of(pages(folder=folder), tmp_path)
    assert source_file(app, "book/ko/carp") == "book/ko/carp.ipynb"
    chapter = tmp_path / "chapters" / f"{stem}.md"
    chapter.parent.mkdir(parents=True)
    chapter.touch()
    assert source_file(app, "book/ko/carp") == f"chapters/{stem}.md"


# ---- search engines


def test_the_alternates_of_a_page() -> None:
    def address(name: str) -> str:
        return f"https://ponds.org/deep/book/{name}"

    homes = {each: address(f"{each}/") for each in ("en", "ko", "fa")}
    expected = {
        "intro": {**homes, "x-default": "https://ponds.org/deep/intro.html"},
        "book/ko/index": {**homes, "x-default": "https://ponds.org/deep/intro.html"},
        # The Persian page is only a fallback.
        "book/ko/carp": {
            "en": address("en/carp.html"), "ko": address("ko/carp.html"),
            "x-default": address("en/carp.html"),
        },
        "book/ko/mud": {"ko": address("ko/mud.html"), "x-default": address("ko/mud.html")},
        "genindex": {},
    }  # fmt: skip
    assert {name: alternates_of(app_of(), name) for name in expected} == expected


def test_the_date_of_a_file_is_that_of_its_last_commit(tmp_path: Path) -> None:
    book = tmp_path / "book"
    book.mkdir()

    def git(*arguments: str, date: str = "") -> None:
        names = {
            f"GIT_{who}_{what}": "a@b.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
        }
        dates = {f"GIT_{who}_DATE": f"{date}T12:00:00Z" for who in ("AUTHOR", "COMMITTER")}
        subprocess.run(["git", *arguments], cwd=tmp_path, check=True, env=os.environ | names | dates)

    assert commit_dates(tmp_path) == {}
    git("init", "-q")
    for date, names in (("2001-02-03", ("연못.md", "eel.md")), ("2004-05-06", ("eel.md",))):
        for name in names:
            (book / name).write_text(date)
        (tmp_path / "outside").write_text(date)
        git("add", ".")
        git("commit", "-qm", "-", date=date)
    assert commit_dates(book) == {"연못.md": "2001-02-03", "eel.md": "2004-05-06"}
    # All that a clone without its history knows is when it was made.
    git("clone", "-q", "--depth=1", f"file://{tmp_path}", "shallow", date="2007-08-09")
    assert commit_dates(tmp_path / "shallow/book") == {}


@pytest.mark.parametrize("change", ["an error", "another format", "no address", ""])
def test_the_sitemap_has_every_page_but_fallbacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    app = app_of(srcdir=tmp_path, html_baseurl="" if change == "no address" else "https://ponds.org")
    app.outdir, app.builder.format = tmp_path, "latex" if change == "another format" else "html"
    app.env.found_docs = {"book/ko/carp", "book/fa/carp", "book/en/carp"}
    given = rendered(app, "연못")
    monkeypatch.setattr(navigation, "commit_dates", {Path(str(tmp_path)): {"book/ko/carp.ipynb": "day"}}.get)
    write_sitemap(app, ValueError() if change == "an error" else None)
    assert (tmp_path / "sitemap.xml").exists() == (not change)
    if not change:
        assert (tmp_path / "sitemap.xml").read_text("utf-8") == "연못"
        ((name, context),) = given
        assert (name, [each[:2] for each in context["pages"]]) == (
            "sitemap.xml",
            [("https://ponds.org/book/en/carp.html", None), ("https://ponds.org/book/ko/carp.html", "day")],
        )
        assert [sorted(each[2]) for each in context["pages"]] == [["en", "ko", "x-default"]] * 2


# ---- searching


def test_text_without_spaces_is_found_by_characters_and_pairs() -> None:
    search = Search({})
    assert search.split("deep 연못은 pond-2") == ["deep", "pond", "2", *"연못은", "연못", "못은"]
    assert search.split("連 線") == ["連", "線"]
    assert [search.word_filter(each) for each in ("の", "pond", "the")] == [True, True, False]


def test_each_language_has_a_search_page_where_the_builder_searches() -> None:
    app = app_of()
    names = [f"book/{code}/search" for code in ("en", "ko", "fa")]
    for searches, expected in ((True, names), (False, [])):
        app.builder.search = searches
        assert search_pages(app) == [(name, {}, "search.html") for name in expected]


# ---- what surrounds a page


def localised(name: str, app: Any = None, **more: Any) -> dict[str, Any]:
    """The context of a page, with a link to its index and one to its neighbour."""
    context: dict[str, Any] = {
        "pagename": name, "root_doc": "intro", "sidebars": ["a", "b"],
        "pathto": lambda name, *_, **__: f"path of {name}",
        "prev": {"title": "before"}, "next": {"title": "after"},
        "rellinks": [("genindex", "General Index", "I", "index"), ("book/ko/x", "X", "N", "next")],
    } | more  # fmt: skip
    with in_language(None):
        navigation.localise_page(app or app_of(), name, "page.html", context, None)
        context["in"] = current_language()
    return context


def test_a_page_without_language_has_that_of_the_reference_and_no_neighbours() -> None:
    app = app_of()
    context = localised("intro", app)
    assert {key: context[key] for key in ("language", "polyglot_has_language", "project", "in")} == {
        "language": "en", "polyglot_has_language": False, "project": "Ponds", "in": EN,
    }  # fmt: skip
    assert (context["prev"], context["next"], context["sidebars"]) == (None, None, [])
    assert (app.config.root_doc, app.config.master_doc) == ("intro", "intro")


def test_a_page_has_the_title_direction_and_neighbours_of_its_language() -> None:
    app = app_of()
    app.env.master_doctree = "that of another language"
    context = localised("book/ko/carp", app)
    expected = {
        "language": "ko", "polyglot_direction": "ltr", "polyglot_reference": "en", "polyglot_title": "연못",
        "polyglot_has_language": True, "project": "연못", "shorttitle": "연못", "docstitle": "연못",
        "root_doc": "book/ko/index", "master_doc": "book/ko/index", "in": KO,
        "prev": {"title": "홈"}, "next": {"title": "after"},
        "sidebars": ["a", "language-switcher.html", "b"],
    }  # fmt: skip
    assert {key: context[key] for key in expected} == expected
    assert (app.config.root_doc, app.config.master_doc) == ("book/ko/index", "book/ko/index")
    assert not hasattr(app.env, "master_doctree")
    assert localised("book/fa/index")["polyglot_direction"] == "rtl"


def test_the_first_page_has_none_before_it_and_the_last_none_after_it() -> None:
    before = {name: localised(name)["prev"] for name in ("book/ko/index", "book/ko/mud", "book/ko/lost")}
    after = {name: localised(name)["next"] for name in before}
    assert before == {"book/ko/index": None, "book/ko/mud": {"title": "before"}, "book/ko/lost": None}
    assert after == {"book/ko/index": {"title": "after"}, "book/ko/mud": None, "book/ko/lost": None}
    assert localised("book/ko/carp", prev=None)["prev"] is None


def test_a_theme_with_a_place_for_the_switcher_has_it_there_alone() -> None:
    app = app_of(html_theme="sphinx_book_theme")
    assert localised("book/ko/carp", app)["sidebars"] == ["a", "b"]
    own = ["language-switcher.html", "a"]
    assert localised("book/ko/carp", sidebars=own)["sidebars"] == own
    assert localised("book/ko/carp", sidebars=None)["sidebars"] == ["language-switcher.html"]


def test_index_and_search_are_those_of_the_language() -> None:
    context = localised("book/ko/carp")
    paths = [context["pathto"](name) for name in ("genindex", "search", "book/ko/carp")]
    assert paths == [f"path of book/ko/{name}" for name in ("genindex", "search", "carp")]
    assert [each[0] for each in context["rellinks"]] == ["genindex", "book/ko/x"]
    assert [each[0] for each in localised("book/ko/mud")["rellinks"]] == ["genindex"]  # it has none after it


def test_the_switcher_leads_to_counterparts_and_else_home() -> None:
    entries = localised("book/ko/mud")["polyglot_switcher"]
    assert [
        (each["code"], each["name"], each["href"], each["current"], each["same"]) for each in entries
    ] == [
        ("en", "English", "book/ko/mud to book/en/index", False, False),
        ("ko", "한국어", "book/ko/mud to book/ko/mud", True, True),
        ("fa", "فارسی", "book/ko/mud to book/fa/index", False, False),
    ]
    entries = localised("book/ko/search")["polyglot_switcher"]
    assert entries[0]["href"] == "book/ko/search to book/en/search"
    assert localised("book/en/about")["polyglot_switcher"] == []


@pytest.mark.parametrize("address", ["", "https://ponds.org"])
def test_a_page_from_the_reference_has_a_note_around_it(address: str) -> None:
    app = app_of(html_baseurl=address)
    given = rendered(app, "noted")
    context = localised("book/fa/carp", app, body="fish")
    note = {"original": EN, "direction": "ltr", "body": "fish"}
    assert (context["body"], given) == ("noted", [("untranslated.html", note)])
    assert context["pageurl"] == (f"{address}/book/en/carp.html" if address else None)
    assert localised("book/ko/carp", app, body="fish")["body"] == "fish"
    assert "body" not in localised("book/fa/carp", app)


def test_all_pages_are_written_again_when_a_title_or_the_contents_change(tmp_path: Path) -> None:
    app = app_of()
    app.outdir, app.env.found_docs = tmp_path, {"b", "a"}
    app.env.titles = {each: nodes.title("", each) for each in ("a", "b", "c")}
    assert refresh_outdated_pages(app, app.env) == []  # of the first build
    assert refresh_outdated_pages(app, app.env) == []
    app.env.titles["a"] = nodes.title("", "A")
    assert refresh_outdated_pages(app, app.env) == ["a", "b"]
    app.env.toctree_includes = {"a": ["b"]}
    assert refresh_outdated_pages(app, app.env) == ["a", "b"]
    for name in ("a", "b"):
        (tmp_path / f"{name}.html").touch()
    app.env.found_docs = {"a", "c"}
    assert refresh_outdated_pages(app, app.env) == ["a", "c"]
    assert [each.name for each in tmp_path.iterdir()] == ["a.html"]
    app.env.found_docs = {"c"}
    (tmp_path / "a.html").unlink()
    assert refresh_outdated_pages(app, app.env) == ["c"]


@pytest.mark.parametrize("failed", [True, False])
def test_sphinx_has_its_root_again_after_the_last_page(failed: bool) -> None:
    app = app_of(root_doc="book/ko/index", master_doc="book/ko/index")
    navigation.restore_root(app, ValueError() if failed else None)
    expected = "book/ko/index" if failed else "intro"
    assert (app.config.root_doc, app.config.master_doc) == (expected, expected)
