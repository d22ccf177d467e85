"""The texts on which SmolLM2 is measured."""

import json
from functools import cache
from importlib import resources


@cache
def texts() -> dict[str, str]:
    """Return ten short English texts of ten kinds, each under its kind; they were written for this course.

    >>> list(texts())[:4], texts()["dialogue"][:28]
    (['story', 'recipe', 'news', 'science'], 'Anna: Did you feed the cat? ')
    """
    file = resources.files(__package__).joinpath("texts.json")
    return dict(json.loads(file.read_text(encoding="utf-8")))
