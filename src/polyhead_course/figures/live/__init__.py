"""Interactive figures: on the site a script runs them, in a notebook and on paper they are pictures."""

# ruff: isort: skip_file
# fmt: off
from polyhead_course.figures.live.atlas import atlas
from polyhead_course.figures.live.bugs import bugs
from polyhead_course.figures.live.explorable import Explorable
from polyhead_course.figures.live.computed_in_page import (
    cache, clocks, hull, path, reach, speculative, stacks, two_heads,
)
from polyhead_course.figures.live.mask import mask
from polyhead_course.figures.live.models import backwards, copier, decoding
from polyhead_course.figures.live.translator import translator
# fmt: on

__all__ = [
    "Explorable", "atlas", "backwards", "bugs", "cache", "clocks", "copier", "decoding", "hull", "mask",
    "path", "reach", "speculative", "stacks", "translator", "two_heads",
]  # fmt: skip
