"""Writes the style sheet of the site: of all sheets of the themes, the rules and icons that its pages use.

What few pages use stands in these pages: the rules of live figures, and the templates `style-*.html`. What a
page shows only when a reader asks for it has a sheet of its own, `later.css`.
"""

import base64
import io
import logging
import re
import shutil
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTFont
from lightningcss import process_stylesheet
from sphinx.application import Sphinx

_STATIC = Path(__file__).parent / "static"
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
# The pages of single figures, for frames of other sites.
EMBED = "embed"
# What is loaded only when a reader asks for it: this sheet, and the words of each language.
_LATER = "later.css"
_ICONS = "vendor/fontawesome/webfonts/fa-solid-900.woff2"
# A pattern that begins with letters is found quickly: one pattern for all names takes seven times as long.
_ELEMENT = re.compile("<([a-z][a-z0-9]*)")
_ATTRIBUTES = {".": re.compile(r"""class=(["'])(.*?)\1"""), "#": re.compile(r"""id=(["'])(.*?)\1""")}
_PROPERTY = re.compile(r"var\(\s*(--[\w-]+)")
# In a script, a text of one word may be an element, and any word with a hyphen a class or an id.
_QUOTED, _HYPHENED = re.compile(r"""(?<=["'])[a-z]\w*(?=["'])"""), re.compile(r"[A-Za-z_]\w*-[\w-]*")
_CLASS = re.compile(r"""(?:["'`( ]\.|classList\.\w+\(["'])([a-z]\w*)""")
COMMENT = re.compile(r"^\s*//.*\n|^[ \t]+", re.MULTILINE)
_KIND, _IMPORT = re.compile(r'data-live="(\w+)"'), re.compile(r'(?:from |import\()"\./([\w.-]+)"')
# Sheets that are included, and fonts, of which `_icon_face` makes one.
_ELSEWHERE = re.compile(r"@(?:charset|import)[^;]*;|@font-face\s*\{[^}]*\}")
# A rule of a minified sheet; its selectors; their names of elements, classes and ids; what else is in them.
_RULE = re.compile(r"(@?[^{}@;]+)(\{[^{}]*\})")
_INSIDE = r"\((?:[^()]|\([^()]*\))*\)"
_SELECTOR = re.compile(rf"(?:[^,()]|{_INSIDE})+")
_NAME = re.compile(r"[.#]?-?[A-Za-z_][\w-]*")
_ASIDE = re.compile(rf"{_INSIDE}|\[[^\]]*\]|::?[\w-]+")


def write_stylesheet(app: Sphinx) -> None:
    """Write the style sheets, `embed.css` for figures alone; remove comments, and files that none loads."""
    site, static = Path(app.outdir), Path(app.outdir) / "_static"
    if not (static / "styles").is_dir():
        return  # Sphinx has written no page, and has not copied the themes' files
    sheets = [path for name in _SHEETS for path in sorted(static.glob(name))]
    css = "\n".join(path.read_text(encoding="utf-8") for path in sheets)
    # Without scripts no page has a theme: it is light. These rules are those of Bootstrap, and repeated.
    css = re.sub(r"(?:\[data-bs-theme=dark\]|html:not\(\[data-theme\]\))\s*\{[^}]*\}", "", css)
    css = re.sub(r"""html\[data-theme=(["']?)light\1\]""", "html:not([data-theme=dark])", css)
    later = process_stylesheet((static / _LATER).read_text(encoding="utf-8"))
    (static / _LATER).write_text(later, encoding="utf-8")
    names = names_of_pages(site.rglob("*.html")) | names_of_scripts(_STATIC.glob("*.js"))
    sheets_of = {"site.css": names.union(_PROPERTY.findall(later))}
    if embeds := names_of_pages(Path(site, EMBED).rglob("*.html")):
        sheets_of["embed.css"] = embeds | names_of_scripts([_STATIC / "embed.js", _STATIC / "live.js"])
    for name, its_names in sheets_of.items():
        used = used_rules(css, its_names)
        icons = {each for each in used if "\ue000" <= each <= "\uf8ff"}
        face = _icon_face(static / _ICONS, icons) if icons else ""
        (static / name).write_text(face + used, encoding="utf-8")
    for script in static.glob("*.js"):
        script.write_text(COMMENT.sub("", script.read_text(encoding="utf-8")), encoding="utf-8")
    keep = {_LATER, *sheets_of, *(path.name for path in _STATIC.iterdir() if path.suffix != ".css")}
    for folder in app.config.html_static_path:
        if not Path(folder).is_absolute():  # the book's own; those of extensions have absolute paths
            keep |= {path.name for path in Path(app.confdir, folder).iterdir()}
    for path in static.iterdir():
        if path.name not in keep and not path.match("later-*.json"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def names_of_pages(paths: Iterable[Path]) -> set[str]:
    """Return the elements, `.classes`, `#ids` and `--properties` of pages."""
    return {name for path in paths for name in _names_of(path.read_text(encoding="utf-8"))}


def _names_of(page: str) -> set[str]:
    names = {*_ELEMENT.findall(page), *_PROPERTY.findall(page)}
    for sign, attribute in _ATTRIBUTES.items():
        names.update(sign + each for _, value in attribute.findall(page) for each in value.split())
    return names


def names_of_scripts(paths: Iterable[Path]) -> set[str]:
    """Return the words of scripts that may be an element, a class or an id that a script creates."""
    names: set[str] = set()
    for path in paths:
        script = path.read_text(encoding="utf-8")
        names.update(_QUOTED.findall(script), _ELEMENT.findall(script))
        names.update(f".{each}" for each in _CLASS.findall(script))
        names.update(sign + each for each in _HYPHENED.findall(script) for sign in ".#")
    return names


def style_of_figures(folder: Path, body: str) -> str:
    """Return the rules that the live figures in a body use, of the sheets in their folder."""
    if not (kinds := frozenset(_KIND.findall(body))):
        return ""
    css = "\n".join(sheet.read_text(encoding="utf-8") for sheet in sorted(folder.glob("*.css")))
    return _rules_of(css, folder, kinds, frozenset(_names_of(body) & {*_NAME.findall(css)}))


@lru_cache  # every language has the same figures
def _rules_of(css: str, folder: Path, kinds: frozenset[str], names: frozenset[str]) -> str:
    scripts = {f"{kind}.js" for kind in kinds}
    for script in (*scripts,):
        scripts |= {*_IMPORT.findall((folder / script).read_text(encoding="utf-8"))}
    return used_rules(css, {"html", *names, *names_of_scripts(folder / each for each in scripts)})


def used_rules(css: str, names: set[str]) -> str:
    """Return the rules that can apply where there are these names, without unused animations and properties.

    What is in the parentheses of a selector is taken to be there.
    """

    def trimmed(rule: re.Match[str]) -> str:
        if rule[1].startswith("@"):
            return rule[0]
        names_of = {each: _NAME.findall(_ASIDE.sub(" ", each)) for each in _SELECTOR.findall(rule[1])}
        selectors = [each for each, its_names in names_of.items() if known.issuperset(its_names)]
        return ",".join(selectors) + rule[2] if selectors else ""

    known = names | {"from", "to"}  # the parts of an animation
    css = process_stylesheet(_ELSEWHERE.sub("", css), error_recovery=True)
    css, before = _silence_icons(_RULE.sub(trimmed, css)), ""
    while css != before:
        animations = " ".join(re.findall(r"[{;]animation(?:-name)?:([^;}]*)", css))
        used = {*names, *_PROPERTY.findall(css), *re.findall(r"[\w-]+", animations)}
        defined = {*re.findall(r"[{;](--[\w-]+):", css), *re.findall(r"@keyframes ([\w-]+)", css)}
        css, before = process_stylesheet(css, unused_symbols=defined - used), css
    return css


def _silence_icons(css: str) -> str:
    """Give icons an empty alternative text, since their elements have labels."""
    for _ in range(2):  # the property of an icon may name that of another one
        for name, icon in re.findall(r'(--[\w-]+):("[\ue000-\uf8ff]")', css):
            css = css.replace(f"var({name})", icon)
    return re.sub(r'content:("[\ue000-\uf8ff]")', r'content:\1;content:\1 / ""', css)


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
