"""Makes the one style sheet of the site out of the theme's many: the rules and icons that its pages use."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import logging
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import rcssmin
import tinycss2
from sphinx.application import Sphinx

_OWN = Path(__file__).parent / "static"
_CODE = Path(__file__).read_bytes()
# In the order in which they apply; the book's own style has the last word.
_SHEETS = (
    "basic.css",
    "styles/pydata-sphinx-theme.css",
    "pygments.css",
    "styles/sphinx-book-theme.css",
    "mystnb*.css",
    "sphinx-design*.css",
    "polyglot.css",
)
_ICONS = "vendor/fontawesome/webfonts/fa-solid-900.woff2"
# Each begins with letters that a search finds quickly: one pattern for all of them takes seven times as long.
_ELEMENT = re.compile("<([a-z][a-z0-9]*)")
_ATTRIBUTES = {".": re.compile(r"""class=(["'])(.*?)\1"""), "#": re.compile(r"""id=(["'])(.*?)\1""")}
_PROPERTY = re.compile(r"var\(\s*(--[\w-]+)")
_WORD = re.compile(r"[A-Za-z_][\w-]*")
_KEYFRAMES = re.compile(r"@keyframes ([\w-]+)\{(?:[^{}]*\{[^{}]*\})*\}")
_NESTED = {"media", "supports", "layer", "container"}


def write_stylesheet(app: Sphinx) -> None:
    """Write `_static/site.css`, and remove from `_static` what no page asks for."""
    static = Path(app.outdir) / "_static"
    if not (static / "styles").is_dir():
        return  # a build that had nothing to do leaves the last one's files
    sheets = [path for name in _SHEETS for path in sorted(static.glob(name))]
    scripts = [*_OWN.glob("*.js")]
    if app.config.polyglot_live:
        figures = Path(app.confdir, app.config.polyglot_live)
        sheets += sorted(figures.glob("*.css"))
        scripts += figures.glob("*.js")
    text = "\n".join(path.read_text(encoding="utf-8") for path in sheets)
    # Without scripts nobody says which theme it is: it is light.
    text = re.sub(r"""html\[data-theme=(["']?)light\1\]""", "html:not([data-theme=dark])", text)
    _write(static, text, Path(app.outdir), scripts, Path(app.doctreedir, "stylesheet.json"))
    wanted = {"site.css", *(path.name for path in _OWN.iterdir() if path.suffix != ".css")}
    for folder in app.config.html_static_path:
        if not Path(folder).is_absolute():  # the book's own; those of extensions have absolute paths
            wanted |= {path.name for path in Path(app.confdir, folder).iterdir()}
    for path in static.iterdir():
        if path.name not in wanted:
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def _write(static: Path, text: str, site: Path, scripts: Iterable[Path], memory: Path) -> None:
    """Write the sheet; not where the last build made it from the same, of which it keeps a memory."""
    last: dict[str, Any] = {}
    with suppress(OSError, ValueError):  # there is none, or half of one
        last = json.loads(memory.read_text())
    pages = names_of_pages(site, last.get("pages", {}))
    names = used_names(pages.values(), scripts)
    made_from = hashlib.sha256(repr((_CODE, text, sorted(names))).encode()).hexdigest()
    sheet = static / "site.css"
    if made_from != last.get("from") or not sheet.is_file():
        css = purged(text, names)
        icons = {each for each in css if "\ue000" <= each <= "\uf8ff"}
        sheet.write_text(_icon_face(static / _ICONS, icons) + css, encoding="utf-8")
    memory.write_text(json.dumps({"from": made_from, "pages": pages}))


def names_of_pages(site: Path, known: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """Give the elements, `.classes`, `#ids` and `--properties` of each page, by the hash of its content.

    Args:
        site: The folder of the pages.
        known: What this gave before.
    """
    contents = [path.read_bytes() for path in site.rglob("*.html")]
    hashed = {hashlib.sha256(_CODE + each).hexdigest(): each for each in contents}
    return {key: known[key] if key in known else _names(page.decode()) for key, page in hashed.items()}


def _names(page: str) -> list[str]:
    names = {*_ELEMENT.findall(page), *_PROPERTY.findall(page)}
    for mark, attribute in _ATTRIBUTES.items():
        values = {value for _, value in attribute.findall(page)}
        names.update(f"{mark}{each}" for value in values for each in value.split())
    return sorted(names)


def used_names(pages: Iterable[Iterable[str]], scripts: Iterable[Path]) -> set[str]:
    """Give the names of pages, and every word of scripts, which may give any of them to an element."""
    names = {name for page in pages for name in page}
    for script in scripts:
        for word in set(_WORD.findall(script.read_text(encoding="utf-8"))):
            names.update((word, f".{word}", f"#{word}"))
    return names


def purged(css: str, names: set[str]) -> str:
    """Keep the rules that can apply to elements of these names, and the animations and properties in use."""
    kept = _silent(str(rcssmin.cssmin("".join(_rules(tinycss2.parse_stylesheet(css, True, True), names)))))
    moving = set(re.findall(r"[\w-]+", " ".join(re.findall(r"[{;]animation(?:-name)?:([^;}]*)", kept))))
    kept = _KEYFRAMES.sub(lambda found: found[0] if found[1] in moving else "", kept)
    variables = {name for name in names if name.startswith("--")}
    while True:
        used = variables | set(re.findall(r"var\(\s*(--[\w-]+)", kept))
        idle = set(re.findall(r"[{;](--[\w-]+):", kept)) - used
        if not idle:
            return kept
        pattern = "|".join(map(re.escape, sorted(idle, key=len, reverse=True)))
        kept = re.sub(rf"(?<=[{{;])(?:{pattern}):[^;{{}}]*(?:;|(?=}}))", "", kept)
        kept = re.sub(r"[^{}]+\{\}", "", kept)


def _silent(css: str) -> str:
    """Keep icons from being read out, where the browser knows how: what they stand for is said in words."""
    values = dict(re.findall(r'(--[\w-]+):(var\(--[\w-]+\)|"[\ue000-\uf8ff]")', css))

    def spelt_out(use: re.Match[str]) -> str:
        value = use[1]
        while (name := value[4:-1]) in values:
            value = values[name]
        return f"content:{value}"

    css = re.sub(r"content:(var\(--[\w-]+\))", spelt_out, css)
    return re.sub(r'content:("[\ue000-\uf8ff]")', r'content:\1;content:\1 / ""', css)


def _rules(rules: list[Any], names: set[str]) -> Iterator[str]:
    for rule in rules:
        if rule.type == "qualified-rule":
            selectors = [each for each in _split(rule.prelude) if _can_apply(each, names)]
            if selectors:
                prelude = ",".join(tinycss2.serialize(each).strip() for each in selectors)
                yield f"{prelude}{{{tinycss2.serialize(rule.content)}}}"
        elif rule.type == "at-rule" and rule.lower_at_keyword in _NESTED and rule.content is not None:
            inside = "".join(_rules(tinycss2.parse_rule_list(rule.content, True, True), names))
            if inside:
                yield f"@{rule.at_keyword}{tinycss2.serialize(rule.prelude)}{{{inside}}}"
        elif rule.type == "at-rule" and rule.lower_at_keyword in {"keyframes", "page", "property"}:
            yield rule.serialize()
        # What is left are @charset, @import of a sheet that is here, and fonts: the icons' is made anew.


def _split(prelude: list[Any]) -> list[list[Any]]:
    """Split a list of selectors at its commas."""
    selectors: list[list[Any]] = [[]]
    for token in prelude:
        if token == ",":
            selectors.append([])
        else:
            selectors[-1].append(token)
    return selectors


def _can_apply(selector: list[Any], names: set[str]) -> bool:
    """Whether every element, class and id of a selector is in use; in parentheses may stand an `or`."""
    before = None
    for token in selector:
        name = None
        if token.type == "hash":
            name = f"#{token.value}"
        elif token.type == "ident" and before == ".":
            name = f".{token.value}"
        elif token.type == "ident" and before != ":":
            name = token.lower_value
        if name is not None and name not in names:
            return False
        before = token.value if token.type == "literal" else None
    return True


def _icon_face(path: Path, icons: set[str]) -> str:
    """Give the icons' font, cut down to these characters, as part of the style sheet."""
    # A build after a change of a sentence needs none of this, which takes a tenth of a second to load.
    from fontTools import subset
    from fontTools.ttLib import TTFont

    logging.getLogger("fontTools.subset").setLevel(logging.WARNING)  # it tells of each of its steps
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
