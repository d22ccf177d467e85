"""A model that writes names of places and languages in four languages."""

from polyhead_course.models.names.counting import NGram
from polyhead_course.models.names.data import Names, is_held_out, read_names
from polyhead_course.models.names.model import NameWriter, Vocabulary, make_model

__all__ = [
    "NGram",
    "NameWriter",
    "Names",
    "Vocabulary",
    "is_held_out",
    "make_model",
    "read_names",
]
