"""Interactive figures: on the site a script runs them, in a notebook and on paper they are pictures."""

from polyhead_course.figures.live.atlas import atlas
from polyhead_course.figures.live.backwards import backwards
from polyhead_course.figures.live.bugs import bugs
from polyhead_course.figures.live.cache import cache
from polyhead_course.figures.live.clocks import clocks
from polyhead_course.figures.live.copier import copier
from polyhead_course.figures.live.decoding import decoding
from polyhead_course.figures.live.explorable import Explorable
from polyhead_course.figures.live.hull import hull
from polyhead_course.figures.live.mask import mask
from polyhead_course.figures.live.path import path
from polyhead_course.figures.live.reach import reach
from polyhead_course.figures.live.speculative import speculative
from polyhead_course.figures.live.stacks import stacks
from polyhead_course.figures.live.translator import translator
from polyhead_course.figures.live.two_heads import two_heads

__all__ = [
    "Explorable", "atlas", "backwards", "bugs", "cache", "clocks", "copier", "decoding", "hull", "mask",
    "path", "reach", "speculative", "stacks", "translator", "two_heads",
]  # fmt: skip
