"""Figures that a reader can take hold of: on the site a script moves them, elsewhere they stand still."""

from polyhead.live.explorable import Explorable
from polyhead.live.hull import hull
from polyhead.live.mask import mask
from polyhead.live.path import path

__all__ = ["Explorable", "hull", "mask", "path"]
