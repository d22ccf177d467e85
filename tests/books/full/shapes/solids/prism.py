def prism(base: Shape) -> Solid:
    """Extrude a shape.

    Source: Euclid,
        book XI.

    >>> prism(base)
    """
