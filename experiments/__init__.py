"""Training of the models in `polyhead_course.models`, and measurement of its tables; not in its wheel."""
