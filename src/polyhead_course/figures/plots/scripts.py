"""Numbers above and below the line, as in 10⁻² and u₁: a figure's texts have no other typesetting."""

_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_SUBSCRIPT = str.maketrans("-0123456789", "₋₀₁₂₃₄₅₆₇₈₉")


def superscript(number: int) -> str:
    """Write a number above the line.

    >>> superscript(-12)
    '⁻¹²'
    """
    return str(number).translate(_SUPERSCRIPT)


def subscript(number: int) -> str:
    """Write a number below the line.

    >>> subscript(12)
    '₁₂'
    """
    return str(number).translate(_SUBSCRIPT)
