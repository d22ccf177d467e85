"""The inventories of the languages, each in use while its pages are: by hand, without a build."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from polyglot_book.config import Language
from sphinx_polyglot import inventories
from sphinx_polyglot.inventories import (
    forget,
    index_pages,
    prepare,
    resolve_in_reference,
    update,
    use,
    using,
)
from sphinx_polyglot.pages import Pages

LANGUAGES = {code: Language(code, code, code, code) for code in ("en", "ko", "fa")}


class Domain:
    """A domain of Sphinx, as far as inventories know it."""

    data_version = 3

    def __init__(self, name: str, env: Any) -> None:
        self.name, self.env = name, env
        self.initial_data: dict[str, Any] = {"labels": {}, "anonlabels": {}}
        self.data: Any = None
        self.calls: list[Any] = []

    def note(self, *call: Any) -> str:
        """Keep a call, with the language in use."""
        self.calls.append((self.env.polyglot_inventory, *call))
        return "resolved"

    clear_doc = env_updated = resolve_xref = note


@pytest.fixture
def app() -> Any:
    """A build of three languages of which none has been read."""
    config = SimpleNamespace(
        _polyglot_pages=Pages(LANGUAGES, "book", (), "book/en/index"),
        polyglot_registries=["proof_list", "other"],
        html_use_index=True,
    )
    env = SimpleNamespace(config=config, domaindata={}, docname="book/ko/now")
    env.domains = {name: Domain(name, env) for name in ("std", "py")}
    builder = SimpleNamespace(get_relative_uri=lambda start, to: f"{start} to {to}")
    app = SimpleNamespace(config=config, env=env, builder=builder)
    prepare(app, env, [])  # type: ignore[arg-type]
    return app


def test_every_language_has_an_empty_inventory_of_each_domain(app: Any) -> None:
    env = app.env
    assert env.polyglot_inventory == "en"
    stored = {"en": env.domaindata, **env.polyglot_inventories}
    assert list(stored) == ["en", "ko", "fa"]
    for code, data in stored.items():
        index = (f"book/{code}/genindex", "")
        assert data == {
            "std": {
                "labels": {"genindex": (*index, "Index")},
                "anonlabels": {"genindex": index},
                "version": 3,
            },
            "py": {"labels": {}, "anonlabels": {}, "version": 3},
        }
    env.domaindata["py"]["labels"]["pond"] = "here"
    assert env.polyglot_inventories["ko"]["py"]["labels"] == env.domains["py"].initial_data["labels"] == {}
    prepare(app, env, [])
    assert env.domaindata["py"]["labels"] == {"pond": "here"}


def test_citations_of_all_languages_come_from_the_files_of_one(app: Any) -> None:
    app.env.domains["cite"] = Domain("cite", app.env)
    app.env.domaindata["cite"] = {"bibdata": "of files"}
    prepare(app, app.env, [])
    assert [app.env.polyglot_inventories[code]["cite"]["bibdata"] for code in ("ko", "fa")] == [
        "of files"
    ] * 2
    update(app, app.env)
    assert app.env.domains["cite"].calls == [("ko",), ("fa",)]
    assert app.env.polyglot_inventory == "en"


def test_a_page_is_read_with_the_inventory_of_its_language(app: Any) -> None:
    env = app.env
    english, korean = dict(env.domaindata), env.polyglot_inventories["ko"]
    env.proof_list = {"a": {}}
    use(env, "book/ko/pond")
    assert env.polyglot_inventory == "ko"
    for name, domain in env.domains.items():
        assert env.domaindata[name] is domain.data is korean[name]
    assert not hasattr(env, "proof_list")
    env.proof_list = {"b": {}}
    use(env, "book/ko/carp")
    assert env.proof_list == {"b": {}}
    use(env)
    assert (env.polyglot_inventory, env.proof_list) == ("en", {"a": {}})
    for name, domain in env.domains.items():
        assert env.domaindata[name] is domain.data is english[name]
    use(env, "book/ko/pond")
    assert env.proof_list == {"b": {}}


def test_a_process_without_domains_and_a_build_without_inventories(app: Any) -> None:
    app.env.domains = None
    use(app.env, "book/fa/pond")
    assert app.env.polyglot_inventory == "fa"
    bare: Any = SimpleNamespace(config=app.config, domaindata={})
    with using(bare, "book/ko/pond"):
        pass
    assert vars(bare) == {"config": app.config, "domaindata": {}}


def test_the_inventory_of_before_is_in_use_again(app: Any) -> None:
    use(app.env, "book/ko/pond")
    with pytest.raises(ZeroDivisionError), using(app.env, "book/fa/pond"):
        assert app.env.polyglot_inventory == "fa"
        raise ZeroDivisionError
    assert app.env.polyglot_inventory == "ko"


def test_a_removed_page_is_forgotten_in_its_language(app: Any) -> None:
    use(app.env, "book/fa/pond")
    app.env.proof_list = {name: {"docname": f"book/fa/{name}"} for name in ("pond", "carp")}
    use(app.env)
    forget(app, app.env, "book/fa/pond")
    assert [each.calls for each in app.env.domains.values()] == [[("fa", "book/fa/pond")]] * 2
    assert app.env.polyglot_inventory == "en"
    use(app.env, "book/fa/carp")
    assert list(app.env.proof_list) == ["carp"]


def test_a_label_that_a_language_lacks_is_looked_for_in_the_reference(app: Any) -> None:
    node: Any = {"refdomain": "std", "reftype": "ref", "reftarget": "pond"}
    assert resolve_in_reference(app, app.env, node, "text") is None  # type: ignore[arg-type]
    use(app.env, "book/ko/pond")
    assert resolve_in_reference(app, app.env, node | {"refdomain": "c"}, "text") is None  # type: ignore[arg-type]
    assert app.env.domains["std"].calls == []
    for more, page in (({}, "book/ko/now"), ({"refdoc": "book/ko/then"}, "book/ko/then")):
        found: Any = resolve_in_reference(app, app.env, node | more, "text")  # type: ignore[arg-type]
        assert found == "resolved"
        call = app.env.domains["std"].calls.pop()
        assert call == ("en", app.env, page, app.builder, "ref", "pond", node | more, "text")
    assert app.env.polyglot_inventory == "ko"


def test_each_language_has_an_index(app: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    class Entries:
        def __init__(self, env: Any) -> None:
            self.code = env.polyglot_inventory

        def create_index(self, builder: Any) -> list[Any]:
            target = builder.get_relative_uri("genindex", "there")
            return [("A", [("ant", [[], [target], None]), ("ape", [[], ["b", "c"], None])]), (self.code, [])]

    monkeypatch.setattr(inventories, "IndexEntries", Entries)
    found = {name: (context, template) for name, context, template in index_pages(app)}
    assert list(found) == [f"book/{code}/genindex" for code in LANGUAGES]
    context, template = found["book/ko/genindex"]
    assert (context["genindexcounts"], context["split_index"], template) == ([5, 0], False, "genindex.html")
    (_, entries), (code, _) = context["genindexentries"]
    assert (code, entries[0][1][1]) == ("ko", ["book/ko/genindex to there"])
    app.config.html_use_index = False
    assert list(index_pages(app)) == []
