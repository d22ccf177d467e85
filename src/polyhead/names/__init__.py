"""A model that writes names of places and languages in four languages; `python -m polyhead.names`."""

from polyhead.names.counting import NGram
from polyhead.names.data import Names, is_held_out, read_names
from polyhead.names.model import NameWriter, Vocabulary, make_model

__all__ = [
    "NGram",
    "NameWriter",
    "Names",
    "Vocabulary",
    "is_held_out",
    "make_model",
    "read_names",
]
