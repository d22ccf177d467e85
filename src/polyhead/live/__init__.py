"""Figures that a reader can take hold of: on the site a script moves them, elsewhere they stand still."""

from polyhead.live.decoding import decoding
from polyhead.live.explorable import Explorable
from polyhead.live.hull import hull
from polyhead.live.mask import mask
from polyhead.live.path import path
from polyhead.live.translator import translator

__all__ = ["Explorable", "decoding", "hull", "mask", "path", "translator"]
