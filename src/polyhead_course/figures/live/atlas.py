"""The heads of SmolLM2 by kind: the reader chooses a head and a text, and switches a kind of head off."""

from collections import Counter
from itertools import groupby

from polyhead_course.figures import plots
from polyhead_course.figures.live.explorable import Explorable, with_bugs
from polyhead_course.figures.plots.matrices import HEAD_KINDS
from polyhead_course.models.smollm2 import atlas as table
from polyhead_course.models.smollm2.bugs import bugs, continuations
from polyhead_course.models.smollm2.readings import BUGS, readings
from polyhead_course.words.language import get_language, text


def atlas() -> Explorable:
    """The figure `plots.head_atlas` of SmolLM2, in which a head shows its weights in six texts.

    It begins with the head that copies most. Two of the texts are in the reader's language. The weights of
    the other heads lie in files, one for each text, which the page loads when the reader asks for them;
    so do those of the first text with a bug planted in the model.

    >>> figure = atlas()
    >>> figure.data["head"], figure.data["kinds"][18][6], len(figure.data["texts"])
    ([18, 6], 'induction', 6)
    """
    rows, texts = table.atlas(), readings(get_language())
    kinds = [[row.kind for row in layer] for _, layer in groupby(rows, lambda row: row.head.layer)]
    counts = Counter(row.kind for row in rows)
    _, *start = max(rows, key=lambda row: row.shares["induction"]).head
    written = {row.bug: row.text for row in continuations() if (row.way, row.prompt) == ("cache", "copy")}
    found = {row.bug: f"{row.perplexity:,.0f}" for row in bugs() if row.layer is None}
    switch = with_bugs("atlas", *BUGS)
    for bug, choice in zip(BUGS, switch[1:], strict=True):
        choice["said"] = text(
            "live.atlas_ill", said=choice["said"], ill=found[bug], right=found["none"],
            written=written[bug].strip()[:48],
        )  # fmt: skip
    return Explorable(
        "atlas", plots.head_atlas(kinds), kinds=kinds, head=start, off="induction",
        names={
            kind: {"name": text(f"head.{kind}"), "face": face, "mark": mark, "count": counts[kind]}
            for kind, (face, mark) in HEAD_KINDS.items() if counts[kind]
        },
        texts=[each._asdict() for each in texts], bugs=switch, files=["", *(f"-{bug}" for bug in BUGS)],
        weights=[row[: number + 1] for number, row in enumerate(texts[0].percents()[*start].tolist())],
    )  # fmt: skip
