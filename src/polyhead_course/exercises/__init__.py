"""What exercises call: `checks` of the reader's own functions, `diagnose`, and `patients` to diagnose."""

from polyhead_course.exercises.clinic import diagnose

__all__ = ["diagnose"]
