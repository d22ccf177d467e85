"""Formulas as readers type them, for the search and for texts that have no room for MathML."""

from selectolax.lexbor import LexborNode

# What readers type before the first, the second and the third part of a formula that is one word.
_SIGNS = {"msqrt": ["√"], "msub": ["", "_"], "msup": ["", "^"], "msubsup": ["", "_", "^"], "mover": ["", ""]}
# Operators without a sign, such as the application of a function.
_INVISIBLE = dict.fromkeys(range(0x2061, 0x2065))


def linear(formula: LexborNode) -> str:
    """Write MathML as a reader types it.

    >>> from selectolax.lexbor import LexborHTMLParser
    >>> page = LexborHTMLParser("<math><mfrac><mi>Q</mi><msqrt><mi>d</mi></msqrt></mfrac></math>")
    >>> linear(page.css_first("math"))
    'Q / √d'
    """
    children = list(formula.iter(include_text=True))
    parts = [linear(each) if each.is_element_node else each.text_content or "" for each in children]
    if formula.tag == "mfrac":
        return " / ".join(parts)
    if signs := _SIGNS.get(formula.tag or ""):
        return "".join(sign + part.replace(" ", "") for sign, part in zip(signs, parts, strict=False))
    text = ""
    for child, part in zip(children, parts, strict=True):
        # The comma of `10{,}000`; one between two numbers has a space behind it.
        in_number = part == "," and child.attributes.get("rspace") == "0"
        text = text.rstrip(" ") + part if in_number else f"{text}{part} "
    text = text.strip(" ").replace(" ,", ",").translate(_INVISIBLE)
    return text.replace(". . .", "…").replace("· · ·", "⋯")
