"""The commands that messages name, as the Makefile of this project has them."""

from __future__ import annotations

NOTEBOOKS = "make notebooks"
SYNC = "make sync"
MARK = "make mark CELL="
