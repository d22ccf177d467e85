"""Reads from `_config.yml` which languages a book has and where its parts are, by JSON schemas."""

from __future__ import annotations

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
    schema: dict[str, Any] = json.loads((Path(__file__).parent / "schemas" / f"{name}.json").read_bytes())
    return schema


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


class ConfigError(ValueError):
    """A configuration that is missing or that cannot be understood."""


def _check(value: object, part: str = "") -> Any:
    """Return a value that has the form of the schema, or of a part of it."""
    schema = {"$defs": _SCHEMA["$defs"], "$ref": f"#/$defs/{part}"} if part else _SCHEMA
    if wrong := problems(value, schema):
        raise ConfigError("\n".join(wrong))
    return value


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
    """

    code: str
    locale: str
    name: str
    title: str
    tagline: str = ""
    untranslated: str = "This part is not translated yet."

    @property
    def slug(self) -> str:
        """The title in the form that file names have.

        >>> Language("en", "en", "English", "A Tiny Book").slug
        'a-tiny-book'
        """
        return re.sub(r"[^a-z0-9]+", "-", self.title.lower())


def languages_from(value: object) -> dict[str, Language]:
    """Read the value of `polyglot_languages`, from YAML or from Sphinx's configuration.

    >>> languages_from({"ko": {"locale": "ko", "name": "한국어", "title": "작은 책"}})["ko"].name
    '한국어'
    """
    entries = _check(value, "languages")
    return {code: Language(code, **entry) for code, entry in entries.items()}


def folder_from(value: object) -> str:
    """Read the value of `polyglot_folder`.

    >>> folder_from("./book/")
    'book'
    """
    try:
        return Path(_check(value, "path")).as_posix()
    except ConfigError as error:
        raise ConfigError(f"polyglot_folder: {error}") from None


@dataclass(frozen=True)
class Book:
    """A book in several languages.

    Attributes:
        root: The folder of `_config.yml`.
        languages: The languages by code, in the order of the switcher; the first is the reference text.
        folder: The folder of the pages, relative to the root: `<folder>/<code>/<stem>.ipynb`.
        terms: The terminology file, where there is one.
        library: Folders whose content decides what notebooks compute.
        verdicts: How the lines begin in which a check calls an answer "right" or "wrong", where checks do.
        language_call: The function whose argument is the language's code, the one difference between the
            code cells of two languages; "" where there is none.
        extensions: The extensions of MyST that the pages use.
    """

    root: Path
    languages: dict[str, Language]
    folder: str = "book"
    terms: Path | None = None
    library: tuple[Path, ...] = ()
    verdicts: Mapping[str, str] = field(default_factory=dict)
    language_call: str = ""
    extensions: tuple[str, ...] = ()

    @property
    def reference(self) -> Language:
        """The language that the others are translated from."""
        return next(iter(self.languages.values()))

    @property
    def translations(self) -> tuple[Language, ...]:
        """Every language but the reference."""
        return tuple(self.languages.values())[1:]

    def chapters_dir(self, code: str) -> Path:
        """Return the folder of a language's chapter text."""
        return self.root / "chapters" / code

    def notebooks_dir(self, code: str) -> Path:
        """Return the folder of a language's notebooks."""
        return self.root / self.folder / code

    def relative(self, path: Path) -> str:
        """Return a file's name as messages have it: relative to the root, with slashes."""
        return path.relative_to(self.root).as_posix()

    @classmethod
    def load(cls, root: Path | str) -> Book:
        """Read `_config.yml` in `root`.

        Raises:
            ConfigError: It is missing or wrong.
        """
        root = Path(root).resolve()
        path = root / "_config.yml"
        try:
            document = _check(yaml.safe_load(path.read_text(encoding="utf-8")))
        except FileNotFoundError:
            raise ConfigError(f"{path}: no such file; run this in the book's root or give --root") from None
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            raise ConfigError(f"{path}: not valid YAML: {error}") from None
        except ConfigError as error:
            raise ConfigError(f"{path}: {error}") from None
        settings = document["sphinx"]["config"]
        library = tuple(root / each for each in settings.get("polyglot_library", []))
        for each in library:
            if not each.is_dir():
                raise ConfigError(f"{path}: polyglot_library: {each.relative_to(root)} is not a folder")
        terms = settings.get("polyglot_terms")
        return cls(
            root,
            languages_from(settings["polyglot_languages"]),
            folder_from(settings.get("polyglot_folder", "book")),
            terms=root / terms if terms else None,
            library=library,
            verdicts=settings.get("polyglot_verdicts", {}),
            language_call=settings.get("polyglot_language_call", ""),
            extensions=tuple(document.get("parse", {}).get("myst_enable_extensions", ())),
        )
