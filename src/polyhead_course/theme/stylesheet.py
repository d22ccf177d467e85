"""Writes the style sheet of the site: of all sheets of the themes, the rules and icons that its pages use."""

from __future__ import annotations

import base64
import hashlib
import io
import logging
import re
import shutil
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import rcssmin
import tinycss2
from fontTools import subset
from fontTools.ttLib import TTFont
from sphinx.application import Sphinx

from polyhead_course.theme.figures import EMBED

_STATIC = Path(__file__).parent / "static"
_CODE = Path(__file__).read_bytes()  # the sheet depends on it, too
# In the order in which they apply; the book's own style has the last word.
_SHEETS = (
    "basic.css",
    "styles/pydata-sphinx-theme.css",
    "pygments.css",
    "styles/sphinx-book-theme.css",
    "mystnb*.css",
    "sphinx-design*.css",
    "polyglot.css",
    "practice.css",
    "take.css",
)
_ICONS = "vendor/fontawesome/webfonts/fa-solid-900.woff2"
# A pattern that begins with letters is found quickly: one pattern for all names takes seven times as long.
_ELEMENT = re.compile("<([a-z][a-z0-9]*)")
_ATTRIBUTES = {".": re.compile(r"""class=(["'])(.*?)\1"""), "#": re.compile(r"""id=(["'])(.*?)\1""")}
_PROPERTY = re.compile(r"var\(\s*(--[\w-]+)")
_WORD = re.compile(r"[A-Za-z_][\w-]*")
_KEYFRAMES = re.compile(r"@keyframes ([\w-]+)\{(?:[^{}]*\{[^{}]*\})*\}")
_NESTED = {"media", "supports", "layer", "container"}


def write_stylesheet(app: Sphinx) -> None:
    """Write `_static/site.css`, and `embed.css` of the figures alone; remove the files that no page loads."""
    site, static = Path(app.outdir), Path(app.outdir) / "_static"
    if not (static / "styles").is_dir():
        return  # Sphinx has written no page, and has not copied the themes' files
    sheets = [path for name in _SHEETS for path in sorted(static.glob(name))]
    live: list[Path] = []
    if app.config.polyglot_live:
        figures = Path(app.confdir, app.config.polyglot_live)
        sheets += sorted(figures.glob("*.css"))
        live += figures.glob("*.js")
    css = "\n".join(path.read_text(encoding="utf-8") for path in sheets)
    # Without scripts no page has a theme: it is light.
    css = re.sub(r"""html\[data-theme=(["']?)light\1\]""", "html:not([data-theme=dark])", css)
    scripts = [*_STATIC.glob("*.js"), *live]
    sheets_of = {"site.css": names_of_pages(site.rglob("*.html")) | names_of_scripts(scripts)}
    if embeds := names_of_pages(Path(site, EMBED).rglob("*.html")):
        sheets_of["embed.css"] = embeds | names_of_scripts([_STATIC / "embed.js", _STATIC / "live.js", *live])
    for name, its_names in sheets_of.items():
        _write_sheet(app, static / name, css, its_names)
    keep = {*sheets_of, *(path.name for path in _STATIC.iterdir() if path.suffix != ".css")}
    for folder in app.config.html_static_path:
        if not Path(folder).is_absolute():  # the book's own; those of extensions have absolute paths
            keep |= {path.name for path in Path(app.confdir, folder).iterdir()}
    for path in static.iterdir():
        if path.name not in keep:
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def _write_sheet(app: Sphinx, sheet: Path, css: str, names: set[str]) -> None:
    digest = hashlib.sha256(_CODE + repr((css, sorted(names))).encode()).hexdigest()
    made_from = Path(app.doctreedir, f"{sheet.name}-made-from")
    # Most changes of a page change no rule, and to read the themes' sheets takes a second.
    if not (sheet.is_file() and made_from.is_file() and made_from.read_text() == digest):
        css = used_rules(css, names)
        icons = {each for each in css if "\ue000" <= each <= "\uf8ff"}
        face = _icon_face(sheet.parent / _ICONS, icons) if icons else ""
        sheet.write_text(face + css, encoding="utf-8")
        made_from.write_text(digest)


def names_of_pages(paths: Iterable[Path]) -> set[str]:
    """Return the elements, `.classes`, `#ids` and `--properties` of pages."""
    names: set[str] = set()
    for path in paths:
        page = path.read_text(encoding="utf-8")
        names.update(_ELEMENT.findall(page), _PROPERTY.findall(page))
        for mark, attribute in _ATTRIBUTES.items():
            values = {value for _, value in attribute.findall(page)}
            names.update(f"{mark}{each}" for value in values for each in value.split())
    return names


def names_of_scripts(paths: Iterable[Path]) -> set[str]:
    """Return every word of scripts as an element, a class and an id: a script may create any of them."""
    words = {word for path in paths for word in _WORD.findall(path.read_text(encoding="utf-8"))}
    return {f"{mark}{word}" for word in words for mark in ("", ".", "#")}


def used_rules(css: str, names: set[str]) -> str:
    """Return the rules that can apply to elements with these names, without unused animations."""
    kept = _silence_icons(
        str(rcssmin.cssmin("".join(_rules(tinycss2.parse_stylesheet(css, True, True), names))))
    )
    animations = set(re.findall(r"[\w-]+", " ".join(re.findall(r"[{;]animation(?:-name)?:([^;}]*)", kept))))
    kept = _KEYFRAMES.sub(lambda match: match[0] if match[1] in animations else "", kept)
    variables = {name for name in names if name.startswith("--")}
    while True:
        used = variables | set(re.findall(r"var\(\s*(--[\w-]+)", kept))
        unused = set(re.findall(r"[{;](--[\w-]+):", kept)) - used
        if not unused:
            return kept
        pattern = "|".join(map(re.escape, sorted(unused, key=len, reverse=True)))
        kept = re.sub(rf"(?<=[{{;])(?:{pattern}):[^;{{}}]*(?:;|(?=}}))", "", kept)
        kept = re.sub(r"[^{}]+\{\}", "", kept)


def _silence_icons(css: str) -> str:
    """Give icons an empty alternative text, since their elements have labels."""
    values = dict(re.findall(r'(--[\w-]+):(var\(--[\w-]+\)|"[\ue000-\uf8ff]")', css))

    def resolve(match: re.Match[str]) -> str:
        value = match[1]
        while (name := value[4:-1]) in values:
            value = values[name]
        return f"content:{value}"

    css = re.sub(r"content:(var\(--[\w-]+\))", resolve, css)
    return re.sub(r'content:("[\ue000-\uf8ff]")', r'content:\1;content:\1 / ""', css)


def _rules(rules: list[Any], names: set[str]) -> Iterator[str]:
    for rule in rules:
        if rule.type == "qualified-rule":
            parts = groupby(rule.prelude, lambda token: token == ",")
            selectors = [[*tokens] for is_comma, tokens in parts if not is_comma]
            used = [each for each in selectors if _can_apply(each, names)]
            if used:
                prelude = ",".join(tinycss2.serialize(each).strip() for each in used)
                yield f"{prelude}{{{tinycss2.serialize(rule.content)}}}"
        elif rule.type == "at-rule" and rule.lower_at_keyword in _NESTED and rule.content is not None:
            inside = "".join(_rules(tinycss2.parse_rule_list(rule.content, True, True), names))
            if inside:
                yield f"@{rule.at_keyword}{tinycss2.serialize(rule.prelude)}{{{inside}}}"
        elif rule.type == "at-rule" and rule.lower_at_keyword in {"keyframes", "page", "property"}:
            yield rule.serialize()
        # Left out: @charset, @import of a sheet that is included, and fonts, of which `_icon_face` makes one.


def _can_apply(selector: list[Any], names: set[str]) -> bool:
    """Return whether every element, class and id of a selector, except in parentheses, is in use."""
    before = None
    for token in selector:
        if token.type == "hash" and f"#{token.value}" not in names:
            return False
        if token.type == "ident" and before != ":":
            name = f".{token.value}" if before == "." else token.lower_value
            if name not in names:
                return False
        before = token.value if token.type == "literal" else None
    return True


def _icon_face(path: Path, icons: set[str]) -> str:
    """Return a `@font-face` with a font of these icons."""
    logging.getLogger("fontTools.subset").setLevel(logging.WARNING)  # it logs each step
    options = subset.Options(flavor="woff2", layout_features=[], hinting=False, notdef_outline=True)
    font = TTFont(path, recalcTimestamp=False)
    cutter = subset.Subsetter(options)
    cutter.populate(text="".join(sorted(icons)))
    cutter.subset(font)
    file = io.BytesIO()
    subset.save_font(font, file, options)
    data = base64.b64encode(file.getvalue()).decode()
    return (
        '@font-face{font-family:"Font Awesome 6 Free";font-style:normal;font-weight:900;'
        f'src:url("data:font/woff2;base64,{data}") format("woff2")}}'
    )
