"""What exercises call: `checks` of the reader's own functions, `diagnose`, and `patients` to diagnose."""

import os
from importlib import resources
from typing import Any

import yaml

import attention_clinic
from attention_clinic import Diagnosis, Wording
from attention_clinic.trial import SECONDS
from polyhead_course.words.language import get_language, text

__all__ = ["diagnose"]


class _CourseWording(Wording):
    """Sentences, and addresses of the site's pages, in the language that is set when they are printed."""

    def sentence(self, key: str, **details: object) -> str:
        return text(key, **details)

    def section(self, bug: str) -> str | None:
        address = super().section(bug)
        return address and address.replace("{language}", get_language())


def _cells() -> dict[str, str]:
    """The cell that teaches each bug, as "02-masks.ipynb#polarity"."""
    source = resources.files(__package__).joinpath("cells.yml").read_text(encoding="utf-8")
    stems = yaml.safe_load(source).items()
    cells = {f"{stem}.ipynb#{cell}": bugs for stem, several in stems for cell, bugs in several.items()}
    return {bug: cell for cell, bugs in cells.items() for bug in bugs}


# Without the variable, sections are cells of the notebooks, which the site's pages link to.
WORDING = _CourseWording(_cells(), os.environ.get("POLYHEAD_SITE", ""))


def diagnose(candidate: Any, kind: str | None = None, seconds: float = SECONDS, **meant: Any) -> Diagnosis:
    """Diagnose a piece of attention code: `attention_clinic.diagnose`, in the reader's language.

    The report names the chapter's cell that teaches each bug, or its page if the environment variable
    `POLYHEAD_SITE` says where the pages are: `https://example.org/book/{language}/`. `meant` is what that
    function calls causal, mask, rope, residual and ignore. As in the chapters, True in a mask means "may
    attend".

    Example:
        >>> diagnose(lambda query, key, value: (query @ key.mT).softmax(-1) @ value).bugs[0].section
        '01-single-head.ipynb#step-scale'
    """
    meant = {"mask": "keeps"} | meant
    return attention_clinic.diagnose(candidate, kind, seconds=seconds, wording=WORDING, **meant)
