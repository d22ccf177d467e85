def volume(side):
    """A cube's."""

def edge(volume):
    """The other way."""
