"""Areas of `shapes`."""

from __future__ import annotations


@checked
def area(sides: Float[Tensor, "batch two"], *, scale: float = 1.5) -> float:
    """Scale times a · b; `sides` are those of a `Square`, see `halved` and https://example.org/areas.

    Args:
        sides: a and b.
        scale: a factor.

    Source: Euclid, book I.

    >>> area([3, 5])
    22.5
    """

def halved(
    first: Float[Tensor, "*batch a_long_name"], /, second: str = "no", *rest: int, **options: bool,
) -> Float[Tensor, "*batch a_long_name"]:
    """Half of it.

    - `a`
    - *b*,
      c

    As code:

        half = 0.5

    Example:
        See https://example.org/a_(b):

        >>> halved(4, scale=2)  # doctest: +SKIP
        4.0
        >>> halved(2)
        1.0

        Then more.

    Examples:
        >>> halved(6)
        3.0

    Returns:
        What comes.

        And: more.

    Raises:
        ValueError: a
            is negative.
    """

def rounded(x):
    """Not exported."""

def _secret(x):
    """Not public."""
