"""The matrix of bugs and probes: the reader chooses a decoder and sees which outputs each probe moves."""

import functools
from collections.abc import Mapping

import torch.nn.functional as F

from attention_clinic.laws import LAWS, Deviation, Law, gap, other_tokens
from attention_clinic.planted import PROBES, planted_decoder, right_twin
from attention_clinic.small import VOCAB_SIZE
from polyhead_course.figures import plots
from polyhead_course.figures.live.explorable import Explorable
from polyhead_course.words.language import text

_LENGTH = 11
# Of one text: outputs that may differ, and the one that must; all others must not.
_MAY = {"causality": range(5, _LENGTH), "past": range(_LENGTH - 1), "left_pad": range(1), "reach": range(6)}
_MUST = {"past": _LENGTH - 1, "reach": 6}


def bugs(matrix: Mapping[str, Mapping[str, float | None]]) -> Explorable:
    """The figure `plots.bug_matrix`, in which a probe shows by how much each output of one text differs.

    Args:
        matrix: as of `attention_clinic.planted.matrix`: bug → probe → deviation.

    >>> from attention_clinic.planted import matrix_row
    >>> bugs({"sees_ahead": matrix_row("sees_ahead")}).data["found"][0][1]
    ['0 0 0 0.21 0.79 2.1 1.1 1.1 1.3 0.92 0.87']
    """
    probes = [
        {"name": text(f"law.{probe}"), "act": text(f"act.{probe}"), "may": [*_MAY.get(probe, ())],
         "must": _MUST.get(probe)}
        for probe in PROBES
    ]  # fmt: skip
    return Explorable(
        "bugs", plots.bug_matrix(matrix), probes=probes, length=_LENGTH,
        bugs=[text(f"bug.{bug}") for bug in matrix], found=[_differences(bug) for bug in matrix],
    )  # fmt: skip


@functools.cache
def _differences(bug: str) -> list[list[str] | None]:
    """For each probe a row of numbers, of `batch` one for each size; None where it does not apply."""
    decoder, right = planted_decoder(bug), right_twin(bug)
    laws = {
        **LAWS, "causality": _changing(5, _LENGTH), "past": _changing(0, _LENGTH - 1),
        "reach": _changing(0, 1), "parity": Law(lambda asked, ids: gap(right(ids), asked(ids))),
    }  # fmt: skip
    return [_sizes(laws[probe](decoder, 1, _LENGTH, VOCAB_SIZE)) for probe in PROBES]


def _changing(start: int, stop: int) -> Law:
    """All outputs, where the law itself compares some of them."""
    return Law(lambda decoder, ids: gap(decoder(ids), decoder(other_tokens(ids, start, stop))))


def _sizes(found: Deviation | None) -> list[str] | None:
    if found is None or found.expected is None or found.actual is None:
        return None
    sizes = (found.expected - found.actual).abs().amax(dim=-1)
    sizes = F.pad(sizes, (_LENGTH - sizes.shape[-1], 0)).view(-1, _LENGTH)  # padding is not compared
    return [" ".join(f"{0 if size < 1e-3 else size:.2g}" for size in row) for row in sizes.tolist()]
