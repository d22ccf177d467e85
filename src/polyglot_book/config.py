"""Reads from `_config.yml` which languages a book speaks and where its parts lie."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import yaml

# A BCP-47 code as this book needs it: language, then optional script and region ("zh-Hant-TW").
_CODE = re.compile(r"[a-z]{2,3}(-[A-Z][a-z]{3})?(-([A-Z]{2}|[0-9]{3}))?")


class ConfigError(ValueError):
    """A configuration that is missing or that cannot be understood."""


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
        """The title as the names of files have it."""
        return re.sub(r"[^a-z0-9]+", "-", self.title.lower())

    @classmethod
    def from_mapping(cls, code: str, entry: object) -> Language:
        """Make a language from one entry of `polyglot_languages`."""
        if not isinstance(code, str) or not _CODE.fullmatch(code):
            raise ConfigError(f"polyglot_languages: expected a code such as 'en' or 'zh-TW', got {code!r}")
        where = f"polyglot_languages: {code}"
        if not isinstance(entry, Mapping):
            raise ConfigError(f"{where}: expected a mapping, got {entry!r}")
        required, optional = {"locale", "name", "title"}, {"tagline", "untranslated"}
        if not required <= entry.keys() <= required | optional:
            expected = "locale, name, title, perhaps tagline and untranslated"
            raise ConfigError(f"{where}: expected {expected}, got {[*entry]}")
        for name, value in entry.items():
            # YAML reads an unquoted `no` as False: the Norwegian locale must be quoted.
            if not isinstance(value, str) or not value.strip():
                raise ConfigError(f"{where}: {name}: expected text (quote it), got {value!r}")
        return cls(code=code, **entry)


def languages_from(value: object) -> dict[str, Language]:
    """Read the value of `polyglot_languages`, from YAML or from Sphinx's configuration."""
    if not isinstance(value, Mapping) or not value:
        raise ConfigError(f"polyglot_languages: expected a mapping by language, got {value!r}")
    return {code: Language.from_mapping(code, entry) for code, entry in value.items()}


def _relative(key: str, value: object) -> Path:
    """Check a path of the configuration: text, below the book's root."""
    if not isinstance(value, str) or not value.strip():
        raise ConfigError(f"{key}: expected a path relative to the book's root, got {value!r}")
    path = Path(value)
    if path.is_absolute() or ".." in path.parts:
        raise ConfigError(f"{key}: expected a path below the book's root, got {value!r}")
    return path


def folder_from(value: object) -> str:
    """Read the value of `polyglot_folder`, without what means nothing: `./book/` is `book`."""
    folder = _relative("polyglot_folder", value)
    if folder == Path():
        raise ConfigError(f"polyglot_folder: expected a folder below the book's root, got {value!r}")
    return folder.as_posix()


class Verdicts(NamedTuple):
    """What the lines begin with in which a check judges an answer."""

    right: str
    wrong: str

    @classmethod
    def from_setting(cls, value: object) -> Verdicts:
        """Read the value of `polyglot_verdicts`."""
        if not isinstance(value, Mapping) or value.keys() != {"right", "wrong"}:
            raise ConfigError(f"polyglot_verdicts: expected {{right: …, wrong: …}}, got {value!r}")
        if not all(isinstance(each, str) and each.strip() for each in value.values()):
            raise ConfigError(f"polyglot_verdicts: expected texts (quote them), got {value!r}")
        return cls(**value)


@dataclass(frozen=True)
class Book:
    """A book in several languages.

    Attributes:
        root: The folder of `_config.yml`.
        languages: The languages by code, in the order of the switcher; the first is the reference text.
        folder: Where the pages lie, relative to the root: `<folder>/<code>/<stem>.ipynb`.
        terms: The terminology file, where there is one.
        library: Folders whose content decides what notebooks compute.
        verdicts: How checks judge answers, where they do.
        config: The text of `_config.yml`.
    """

    root: Path
    languages: dict[str, Language]
    folder: str = "book"
    terms: Path | None = None
    library: tuple[Path, ...] = ()
    verdicts: Verdicts | None = None
    config: str = field(default="", repr=False)

    @property
    def reference(self) -> Language:
        """The language that the others are translated from."""
        return next(iter(self.languages.values()))

    @property
    def translations(self) -> tuple[Language, ...]:
        """Every language but the reference."""
        return tuple(self.languages.values())[1:]

    def chapters_dir(self, code: str) -> Path:
        """Give the folder of a language's chapter text."""
        return self.root / "chapters" / code

    def notebooks_dir(self, code: str) -> Path:
        """Give the folder of a language's notebooks."""
        return self.root / self.folder / code

    def relative(self, path: Path) -> str:
        """Name a file as messages do: relative to the root, with slashes."""
        return path.relative_to(self.root).as_posix()

    @classmethod
    def load(cls, root: Path | str) -> Book:
        """Read `_config.yml` in `root`."""
        root = Path(root).resolve()
        path = root / "_config.yml"
        try:
            text = path.read_text(encoding="utf-8")
            document = yaml.safe_load(text)
        except FileNotFoundError:
            raise ConfigError(f"{path}: no such file; run this in the book's root or give --root") from None
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            raise ConfigError(f"{path}: not valid YAML: {error}") from None
        settings: Any = document
        for key in ("sphinx", "config"):
            settings = settings.get(key) if isinstance(settings, Mapping) else None
        if not isinstance(settings, Mapping) or "polyglot_languages" not in settings:
            raise ConfigError(f"{path}: sphinx: config: polyglot_languages is missing")
        try:
            library = settings.get("polyglot_library", [])
            if not isinstance(library, Sequence) or isinstance(library, str):
                raise ConfigError(f"polyglot_library: expected a list of folders, got {library!r}")
            folders = tuple(root / _relative("polyglot_library", each) for each in library)
            for each in folders:
                if not each.is_dir():
                    raise ConfigError(f"polyglot_library: {each.relative_to(root)} is not a folder")
            languages = languages_from(settings["polyglot_languages"])
            folder = folder_from(settings.get("polyglot_folder", "book"))
            terms = settings.get("polyglot_terms")
            terms = None if terms is None else root / _relative("polyglot_terms", terms)
            verdicts = settings.get("polyglot_verdicts")
            verdicts = None if verdicts is None else Verdicts.from_setting(verdicts)
            return cls(root, languages, folder, terms, folders, verdicts, text)
        except ConfigError as error:
            raise ConfigError(f"{path}: {error}") from None
