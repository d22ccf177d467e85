def late():
    """Late."""
