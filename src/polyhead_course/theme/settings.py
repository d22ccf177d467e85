"""Checks the settings that are used at the end of a build before anything is read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import ConfigError

from sphinx_polyglot.languages import Pages


# Sphinx event: config-inited
def check(app: Sphinx, config: Config) -> None:
    """Raise a `ConfigError` for the first wrong value of the languages, the fonts and the rights."""
    languages = Pages.from_config(config).languages
    _check_fonts(config.polyglot_fonts, languages, Path(app.srcdir))
    _check_rights(config.polyglot_rights)


def _check_fonts(fonts: object, languages: Mapping[str, object], root: Path) -> None:
    if not isinstance(fonts, Mapping) or not fonts.keys() <= languages.keys():
        raise ConfigError(f"polyglot_fonts: expected a font file for each of {[*languages]}, got {fonts!r}")
    for code, path in fonts.items():
        if not isinstance(path, str) or not (root / path).is_file():
            raise ConfigError(f"polyglot_fonts: {code}: expected a font file, got {path!r}")


def _check_rights(rights: object) -> None:
    if not isinstance(rights, Mapping) or not rights.keys() <= {"text", "code", "cite"}:
        raise ConfigError(f"polyglot_rights: expected a mapping of text, code and cite, got {rights!r}")
    for kind, value in rights.items():
        texts = [value]
        if kind != "cite":
            if not isinstance(value, Mapping) or value.keys() != {"name", "href"}:
                raise ConfigError(f"polyglot_rights: {kind}: expected name and href, got {value!r}")
            texts = [*value.values()]
        if not all(isinstance(each, str) for each in texts):
            raise ConfigError(f"polyglot_rights: {kind}: expected text, got {value!r}")
