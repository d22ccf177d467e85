"""Reads which languages a book has and where its parts are, from `_config.yml` and `polyglot.yml`."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator as Validator


def load_schema(name: str) -> dict[str, Any]:
    """Read a schema of this package, from `schemas/`.

    >>> load_schema("cell")["required"]
    ['id']
    """
    return dict(json.loads((Path(__file__).parent / "schemas" / f"{name}.json").read_bytes()))


def problems(value: object, schema: Mapping[str, Any]) -> list[str]:
    """List what is wrong with a value from YAML; the `description` of a schema is what it expects.

    >>> problems({"tags": 5}, load_schema("cell"))
    ["expected a header with an id, got {'tags': 5}", 'tags: expected a list of words, got 5']
    """
    wrong = []
    for error in Validator(schema, format_checker=Validator.FORMAT_CHECKER).iter_errors(value):
        path = "".join(f"{key}: " for key in error.absolute_path)
        expected = error.schema.get("description")
        wrong.append(path + (f"expected {expected}, got {error.instance!r}" if expected else error.message))
    return wrong


_SCHEMA = load_schema("config")
# Settings without their `polyglot_`: for books without `_config.yml`, or without Sphinx.
SETTINGS = "polyglot.yml"
# Where no `_config.yml` names any: what Jupyter Book and MyST read by themselves.
_EXTENSIONS = ("amsmath", "colon_fence", "deflist", "dollarmath", "substitution", "tasklist")


class ConfigError(ValueError):
    """A configuration that is missing or that cannot be understood."""


def _check(value: object, part: str = "") -> Any:
    """Return a value that has the form of the schema, or of a part of it."""
    schema = {"$defs": _SCHEMA["$defs"], "$ref": f"#/$defs/{part}"} if part else _SCHEMA
    if wrong := problems(value, schema):
        raise ConfigError("\n".join(wrong))
    return value


def read_yaml(path: Path) -> dict[str, Any]:
    """Read a file of settings.

    Raises:
        ConfigError: It is not YAML, or no mapping.
    """
    try:
        document = named(yaml.safe_load(path.read_text(encoding="utf-8")))
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(f"{path}: not valid YAML: {error}") from None
    if not isinstance(document, dict):
        raise ConfigError(f"{path}: expected `key: value`, got {document!r}")
    return document


def named(value: Any) -> Any:
    """Return a value from YAML in which a language `no`, which YAML reads as false, has its name.

    >>> named({"en": "sum", False: "sum"})
    {'en': 'sum', 'no': 'sum'}
    """
    if isinstance(value, list):
        return [*map(named, value)]
    if not isinstance(value, Mapping):
        return value
    return {"no" if key is False else key: named(each) for key, each in value.items()}


@dataclass(frozen=True)
class Language:
    """One language of the book.

    Attributes:
        code: BCP-47 code, which names the folders and the `lang` attribute ("zh-TW").
        locale: The locale of gettext catalogues ("zh_TW").
        name: What its readers call it ("繁體中文").
        title: The book's title in this language.
        tagline: One optional sentence about the book in this language.
        untranslated: The note at a text that waits for its translation into this language.
        partial: Whether it may lack chapters and terms, in whose place are the reference's.
    """

    code: str
    locale: str
    name: str
    title: str
    tagline: str = ""
    untranslated: str = "This part is not translated yet."
    partial: bool = False

    @property
    def slug(self) -> str:
        """The title for file names: its ASCII letters and digits, with hyphens; the code if it has none.

        >>> Language("en", "en", "English", "A Tiny Book").slug, Language("ko", "ko", "한국어", "정원").slug
        ('a-tiny-book', 'ko')
        """
        return re.sub(r"[^a-z0-9]+", "-", self.title.lower()).strip("-") or self.code


def languages_from(value: object) -> dict[str, Language]:
    """Read the value of `polyglot_languages`, from YAML or from Sphinx's configuration.

    >>> languages_from({"ko": {"locale": "ko", "name": "한국어", "title": "작은 책"}})["ko"].name
    '한국어'
    """
    return {code: Language(code, **entry) for code, entry in _check(named(value), "languages").items()}


def folder_from(value: object) -> str:
    """Read the value of `polyglot_folder`; "" for `.`, where the languages' folders are at the top.

    >>> folder_from("./book/"), folder_from(".")
    ('book', '')
    """
    try:
        return "/".join(Path(_check(value, "folder")).parts)
    except ConfigError as error:
        raise ConfigError(f"polyglot_folder: {error}") from None


@dataclass(frozen=True)
class Book:
    """A book in several languages.

    Attributes:
        root: The folder of `_config.yml`, or of `polyglot.yml`.
        languages: The languages by code, in the order of the switcher; the first is the reference text.
        folder: The folder of the pages, relative to the root: `<folder>/<code>/<stem>`; "" for the root.
        terms: The terminology file, where there is one.
        library: Folders whose content decides what notebooks compute.
        verdicts: How the lines begin in which a check calls an answer "right" or "wrong", where checks do.
        language_call: The function whose argument is the language's code, the one difference between the
            code cells of two languages; "" where there is none.
        extensions: The extensions of MyST that the pages use.
        commands: What messages call the commands "run", "sync" and "mark", where it is not `polyglot run`; an
            argument follows after a space, or directly after "=", as in "make mark CELL=".
        free_words: Whether comments and strings in code may differ between languages.
        vector_figures: Whether outputs must not have bitmaps.
    """

    root: Path
    languages: dict[str, Language]
    folder: str = "book"
    terms: Path | None = None
    library: tuple[Path, ...] = ()
    verdicts: Mapping[str, str] = field(default_factory=dict)
    language_call: str = ""
    extensions: tuple[str, ...] = ()
    commands: Mapping[str, str] = field(default_factory=dict)
    free_words: bool = False
    vector_figures: bool = False

    @property
    def reference(self) -> Language:
        """The language that the others are translated from."""
        return next(iter(self.languages.values()))

    @property
    def translations(self) -> tuple[Language, ...]:
        """Every language but the reference."""
        return tuple(self.languages.values())[1:]

    @property
    def in_place(self) -> bool:
        """Whether the pages are the chapters themselves, since there is no folder `chapters/<reference>`."""
        pages, chapters = (self.root / each / self.reference.code for each in (self.folder, "chapters"))
        return pages.is_dir() and (pages == chapters or not chapters.is_dir())

    def chapters_dir(self, code: str) -> Path:
        """Return the folder of a language's chapter text."""
        return self.root / (self.folder if self.in_place else "chapters") / code

    def chapter_file(self, code: str, stem: str) -> Path:
        """Return the file of a chapter; if there is none, the one that it would have."""
        texts = [self.chapters_dir(each) / stem for each in (code, self.reference.code)]
        files = [path.with_name(path.name + end) for path in texts for end in (".md", ".ipynb")]
        suffix = next((path.suffix for path in files if path.is_file()), ".md")
        return texts[0].with_name(texts[0].name + suffix)

    def in_own_words(self, message: str) -> str:
        """Format a message with what the book calls the commands, such as `make sync` for `polyglot sync`."""
        for name, command in self.commands.items():
            message = message.replace(f"`polyglot {name}`", f"`{command}`")
            space = "" if command.endswith("=") else " "  # as in make mark CELL=…
            message = message.replace(f"`polyglot {name} ", f"`{command}{space}")
        return message

    def notebooks_dir(self, code: str) -> Path:
        """Return the folder of a language's notebooks."""
        return self.root / self.folder / code

    def relative(self, path: Path) -> str:
        """Return a file's name as messages have it: relative to the root, with slashes."""
        return path.relative_to(self.root).as_posix()

    @classmethod
    def load(cls, root: Path | str) -> "Book":
        """Read `_config.yml` and `polyglot.yml` in `root`; one of them is enough.

        Raises:
            ConfigError: It is missing or wrong.
        """
        root = Path(root).resolve()
        path, own = root / "_config.yml", root / SETTINGS
        if not path.is_file() and not own.is_file():
            raise ConfigError(f"{path}: no such file; run this in the book's root or give --root")
        document, others = (read_yaml(each) if each.is_file() else {} for each in (path, own))
        if others:
            sphinx = document.get("sphinx") or {}
            settings = (sphinx.get("config") or {}) | {f"polyglot_{key}": others[key] for key in others}
            document["sphinx"] = {**sphinx, "config": settings}
        path = path if path.is_file() else own
        try:
            _check(document)
        except ConfigError as error:
            raise ConfigError(f"{path}: {error}") from None
        config = document["sphinx"]["config"]
        own_keys = [key for key in config if str(key).startswith("polyglot_")]
        settings = {key.removeprefix("polyglot_"): config[key] for key in own_keys}
        library = tuple(root / each for each in settings.get("library", []))
        for each in library:
            if not each.is_dir():
                raise ConfigError(f"{path}: polyglot_library: {each.relative_to(root)} is not a folder")
        as_they_are = ("verdicts", "language_call", "commands", "free_words", "vector_figures")
        return cls(
            root,
            languages_from(settings["languages"]),
            folder_from(settings.get("folder", "book")),
            terms=root / settings["terms"] if settings.get("terms") else None,
            library=library,
            extensions=tuple(document.get("parse", {}).get("myst_enable_extensions", _EXTENSIONS)),
            **{name: settings[name] for name in as_they_are if name in settings},
        )
