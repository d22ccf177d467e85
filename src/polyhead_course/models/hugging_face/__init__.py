"""Hugging Face's text models in this course: a table of the laws that they keep and break."""
