"""A model that writes names of places and languages in four languages."""

from polyhead_course.models.names.model import NameWriter, Vocabulary, make_model
from polyhead_course.models.names.runs import Names, NGram, is_held_out, read_names

__all__ = ["NGram", "NameWriter", "Names", "Vocabulary", "is_held_out", "make_model", "read_names"]
