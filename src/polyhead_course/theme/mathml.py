"""Turns TeX into MathML while the site is built, so that pages need no script for formulas."""

from __future__ import annotations

import html
import re
from functools import cache
from itertools import pairwise
from xml.etree import ElementTree as ET

from latex2mathml.converter import convert_to_element

_THIN = "0.1667em"
_FUNCTIONS = (
    "arccos|arcsin|arctan|arg|cosh|cos|coth|cot|csc|deg|dim|exp|hom|ker|lg|ln|log|sec|sinh|sin|tanh|tan"
)
_LIMITS = frozenset(["max", "min", "sup", "inf", "lim", "argmax", "argmin", "det", "gcd", "Pr"])
_CHILDREN = dict.fromkeys(("mfrac", "msub", "msup", "mover", "munder", "mroot"), 2)
_CHILDREN |= dict.fromkeys(("msubsup", "munderover"), 3)
_OPENING, _CLOSING = "([{⌊⌈⟨", ")]}⌋⌉⟩"
# Chromium lays the parts of a cell out as blocks, which only its own word aligns.
_ALIGN = "text-align: {side}; text-align: -webkit-{side}"
_SPACES = {"negativethinmathspace": f"-{_THIN}"}
# Where the letters of a variant begin: capital A, small a, digit 0. MathML Core knows only the characters.
_VARIANTS = {
    "bold": (0x1D400, 0x1D41A, 0x1D7CE),
    "italic": (0x1D434, 0x1D44E, None),
    "bold-italic": (0x1D468, 0x1D482, None),
    "double-struck": (0x1D538, 0x1D552, 0x1D7D8),
    "script": (0x1D49C, 0x1D4B6, None),
    "sans-serif": (0x1D5A0, 0x1D5BA, 0x1D7E2),
    "monospace": (0x1D670, 0x1D68A, 0x1D7F6),
}
# Environments of amsmath that the converter lacks, by one that does the same without equation numbers.
_ENVIRONMENTS = {"aligned": "align*", "align": "align*", "split": "align*", "gather": "gather*"}


class TexError(ValueError):
    """TeX that cannot be turned into MathML."""


@cache  # the same formulas stand in every language, and often on a page
def to_mathml(tex: str, *, display: bool) -> str:
    """Turn a formula into a `<math>` element.

    Args:
        tex: The formula, without dollar signs.
        display: Whether it stands on a line of its own.
    """
    try:
        math = convert_to_element(_prepare(tex), display="block" if display else "inline")
    except Exception as error:  # The converter raises many kinds, some of them without a base of their own.
        raise TexError(f"{type(error).__name__}: {error}") from error
    for element in math.iter():
        # The converter leaves entities in the text, for its own serialiser to undo.
        element.text = html.unescape(element.text) if element.text else element.text
    _check(math, tex)
    _merge_numbers(math)
    _merge_words(math)
    for element in math.iter():
        _raise_prime(element)
        _repair(element)
    for parent in math.iter():
        _space_operators(parent, display=display)
        _bind_signs(parent)
    math.set("alttext", " ".join(tex.split()))
    return ET.tostring(math, encoding="unicode")


def _prepare(tex: str) -> str:
    tex = re.sub(r"\\(?:begin|end)\{equation\*?\}", "", tex).strip()
    for name, known in _ENVIRONMENTS.items():
        tex = re.sub(rf"\\(begin|end)\{{{name}\}}", rf"\\\1{{{known}}}", tex)
    # A group of centred lines is a table of one column.
    tex = re.sub(r"\\begin\{gather(?:ed|\*)\}", r"\\begin{array}{c}", tex)
    tex = re.sub(r"\\end\{gather(?:ed|\*)\}", r"\\end{array}", tex)
    # Functions by one way, which does not depend on which of them the converter knows.
    tex = re.sub(rf"(?<!\\)((?:\\\\)*)\\({_FUNCTIONS})(?![A-Za-z])", r"\1\\operatorname{\2}", tex)
    outside = re.sub(r"\\begin\{(\w+\*?)\}.*?\\end\{\1\}", "", tex, flags=re.DOTALL)
    if r"\\" in outside:
        name, columns = ("align*", "") if "&" in outside else ("array", "{c}")
        tex = rf"\begin{{{name}}}{columns}{tex}\end{{{name}}}"
    return tex


def _check(math: ET.Element, tex: str) -> None:
    """Refuse what the converter lets pass: it writes a command that it does not know as text."""
    bare = re.sub(r"\\.", "", tex, flags=re.DOTALL)
    if bare.count("{") != bare.count("}"):
        raise TexError("braces that do not match")
    for element in math.iter():
        text = element.text or ""
        if "\\" in text and element.tag != "mtext":
            raise TexError(f"unknown command {text}")
        if text == "&" and element.tag == "mi":
            raise TexError("an & outside of a table")
        if element.tag in _CHILDREN and len(element) != _CHILDREN[element.tag]:
            raise TexError(f"{element.tag} needs {_CHILDREN[element.tag]} parts, got {len(element)}")


def _merge_numbers(math: ET.Element) -> None:
    r"""Write `10{,}000` as one number: the comma would get an operator's space."""
    for parent in math.iter():
        for index in range(len(parent) - 2, 0, -1):
            if index + 1 == len(parent):
                continue  # the end has just been merged into what stood before it
            before, comma, after = parent[index - 1 : index + 2]
            if (
                (before.tag, comma.tag, after.tag) == ("mn", "mrow", "mn")
                and len(comma) == 1
                and comma[0].text in {",", "."}
            ):
                before.text = f"{before.text}{comma[0].text}{after.text}"
                parent.remove(comma)
                parent.remove(after)


def _merge_words(math: ET.Element) -> None:
    r"""Write the letters of `\mathrm{head}` as one word, which is upright by itself."""
    for parent in math.iter():
        for index in range(len(parent) - 1, 0, -1):
            before, after = parent[index - 1], parent[index]
            if all(each.tag == "mi" and each.get("mathvariant") == "normal" for each in (before, after)):
                before.text = f"{before.text}{after.text}"
                parent.remove(after)


def _raise_prime(element: ET.Element) -> None:
    """A prime is small and raised by itself: as a superscript it would be a speck."""
    if element.tag in {"msup", "msubsup"} and (element[-1].text or "").strip("′") == "" and element[-1].text:
        prime = ET.Element("mo", lspace="0em", rspace="0em")
        prime.text, prime.tail = element[-1].text, None
        base = list(element)[:-1]
        if element.tag == "msubsup":
            below = ET.Element("msub")
            below.extend(base)
            base = [below]
        element.tag = "mrow"
        element[:] = [*base, prime]


def _repair(element: ET.Element) -> None:
    """Say in MathML Core what the converter says in older MathML."""
    variant = element.get("mathvariant")
    if variant and variant != "normal":
        element.text = "".join(_in_variant(letter, variant) for letter in element.text or "")
        del element.attrib["mathvariant"]
    if element.tag == "mi" and element.text and element.text in "⌊⌋⌈⌉⟨⟩":
        element.tag = "mo"
        element.attrib.update(stretchy="false", form="prefix" if element.text in _OPENING else "postfix")
    if element.tag == "mo" and element.text in {"|", "‖"} and "fence" not in element.attrib:
        element.attrib.update(lspace="0em", rspace="0em", stretchy="false")
    if element.tag == "mo" and element.text in {"/", ".", "∞", "…", "⋯", "∂", "∇", "∅"}:
        # Ordinary symbols to TeX, operators with spaces around them to MathML.
        element.attrib.update(lspace="0em", rspace="0em")
    if element.tag == "mspace" and (width := element.get("width")) in _SPACES:
        element.set("width", _SPACES[width])
    if element.tag == "mover" and element[1].text in {"¯", "~", "^", "→", "˙", "¨"}:
        element.set("accent", "true")
    if element.tag == "munder" and element[1].text in {"⏟", "―"}:
        element.set("accentunder", "true")
    if element.tag == "mtd" and (side := element.attrib.pop("columnalign", None)):
        element.set("style", _ALIGN.format(side=side))
    if element.tag == "mtable" and element.attrib.pop("columnspacing", None) is not None:
        # An aligned equation: no gap before the sign that it is aligned at, a wide one between two.
        for row in element:
            for column, cell in enumerate(row):
                start = "0" if column % 2 or column == 0 else "2em"
                side = cell.attrib.pop("columnalign", "left")
                cell.set("style", f"{_ALIGN.format(side=side)}; padding-left: {start}; padding-right: 0")


def _in_variant(letter: str, variant: str) -> str:
    starts = _VARIANTS.get(variant)
    if starts is None:
        return letter
    for first, start in zip("Aa0", starts, strict=True):
        offset = ord(letter) - ord(first)
        if start is not None and 0 <= offset < (10 if first == "0" else 26):
            return chr(start + offset)
    return letter


def _space_operators(parent: ET.Element, *, display: bool) -> None:
    """Give the names of functions TeX's spaces: a thin one on either side, none before a parenthesis."""
    for index, child in enumerate(parent):
        core = child[0] if child.tag in _CHILDREN and child.tag.startswith(("msu", "mun")) else child
        name = core.text or ""
        is_name = len(name) > 1 and name.replace("\N{THIN SPACE}", "").isascii() and name[0].isalpha()
        if not is_name or not (core.tag == "mo" or (core.tag == "mi" and name in _FUNCTIONS.split("|"))):
            continue
        core.tag = "mo"
        if parent.tag in _CHILDREN:
            # It is the base or the script of its parent, which is spaced as a whole.
            if core is child and parent[0] is child and parent.tag != "mfrac":
                continue
            core.attrib.update(lspace="0em", rspace="0em")
            continue
        before = parent[index - 1] if index else None
        after = parent[index + 1] if index + 1 < len(parent) else None
        core.set("lspace", _THIN if before is not None and _is_ordinary(before) else "0em")
        core.set("rspace", "0em" if after is None or _opens(after) else _THIN)
        if name.replace("\N{THIN SPACE}", "") in _LIMITS and child.tag == "msub":
            child.tag = "munder"
            core.set("movablelimits", "false" if display else "true")


def _bind_signs(parent: ET.Element) -> None:
    """A minus or plus after an operator or an opening parenthesis belongs to what follows it."""
    for before, sign in pairwise(parent):
        if sign.tag == "mo" and sign.text in {"-", "−", "+"} and not _is_ordinary(before):
            sign.attrib.update(form="prefix", lspace="0em", rspace="0em")


def _is_ordinary(element: ET.Element) -> bool:
    return element.tag not in {"mo", "mspace"} or (element.text or "") in _CLOSING


def _opens(element: ET.Element) -> bool:
    return element.tag == "mo" and (element.text or "") in _OPENING
