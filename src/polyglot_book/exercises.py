"""The names by which a chapter's text marks an exercise, where a reader begins with it, and its solution."""

from __future__ import annotations

EXERCISE_CLASS = "exercise"  # of the admonition
STARTER_TAG = "starter"  # of the code cell that a reader begins with
EXERCISE_PREFIX = "exercise-"  # of the id of its cell
SOLUTION_PREFIX = "solution-"  # of the ids of a solution's cells
