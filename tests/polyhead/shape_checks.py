"""What checks the types of each call: beartype, where an int may stand for a float, as for mypy."""

from __future__ import annotations

from beartype import BeartypeConf, beartype

check = beartype(conf=BeartypeConf(is_pep484_tower=True))
