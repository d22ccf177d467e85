"""Plant each bug of the clinic in SmolLM2, and measure texts, continuations and laws: in 20 CPU minutes."""

from __future__ import annotations

import argparse
import csv
import math
import statistics
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import torch
import torch.nn.functional as F
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from attention_clinic.laws import LAWS
from attention_clinic.plant import PLANTABLE, plant
from attention_clinic.small import SmallDecoder
from experiments.command import run_command
from polyhead.generation import Steps
from polyhead.pretrained import SmolLM2, smollm2
from polyhead_course.models.smollm2 import bugs as tables
from polyhead_course.models.smollm2.bugs import PROMPTS, BugRow, Continuation
from polyhead_course.models.smollm2.texts import texts

FOLDER = Path(tables.__file__).parent
LAYERS = 0, 15, 29  # each has some bugs alone
MAX_NEW_TOKENS, LEAST_GAP = 24, 0.05


def measure_bugs(model: SmolLM2) -> Iterator[BugRow]:
    """Yield the rows of no bug and of each, then of those that change the texts in one layer alone."""
    rows = [bug_row(model, bug) for bug in ("none", *PLANTABLE)]
    yield from rows
    for row in rows:
        if abs(row.perplexity - rows[0].perplexity) > 1e-3 * rows[0].perplexity:
            yield from (bug_row(model, row.bug, layer) for layer in LAYERS)


def bug_row(model: SmolLM2, bug: str, layer: int | None = None) -> BugRow:
    """Measure the ten texts with a bug, and where all layers have it, examine it by the laws."""
    torch.manual_seed(0)  # one of the bugs is dropout
    planted = plant(model.model, bug, None if layer is None else [layer])
    joined = "\n\n".join(texts().values())
    *found, long = perplexities(planted, model.tokenizer, [*texts().values(), joined])
    logs = [math.log(each) for each in found]
    numbers = [len(model.tokenizer.encode(text).ids) - 1 for text in texts().values()]
    mean = sum(n * log for n, log in zip(numbers, logs, strict=True)) / sum(numbers)
    laws = () if layer is not None else tuple(laws_that_see(planted))
    report(bug, layer, round(math.exp(mean), 3), round(long, 3), laws)
    by_kind = dict(zip(texts(), found, strict=True))
    return BugRow(bug, layer, by_kind, math.exp(mean), statistics.stdev(logs), long, laws)


@torch.no_grad()
def perplexities(model: nn.Module, tokenizer: Tokenizer, texts: Iterable[str]) -> list[float]:
    """Compute exp(-mean log P) over the tokens of each text but the first, which nothing comes before.

    Args:
        model: `model(token_ids)` gives logits, (batch, length, vocab_size).
        tokenizer: Gives the tokens of a text, at least two of them.
        texts: Read one by one.

    >>> model, tokenizer, _ = smollm2()
    >>> easy, hard = perplexities(model, tokenizer, ["1, 2, 3, 4, 5, 6, 7, 8", "8, 1, 6, 2, 7, 3, 5, 4"])
    >>> easy < hard / 2
    True
    """
    found = []
    for text in texts:
        ids = torch.tensor([tokenizer.encode(text).ids])
        if ids.shape[1] < 2:
            raise ValueError(f"texts must have two tokens or more each, got {text!r}")
        found.append(math.exp(F.cross_entropy(model(ids)[0, :-1], ids[0, 1:]).item()))
    return found


def laws_that_see(planted: SmallDecoder) -> Iterator[str]:
    """Yield the names of the laws that the first two layers break, in a tenth of the time of all."""
    planted.layers, planted.num_layers = planted.layers[:2], 2
    vocab_size = planted.embedding.num_embeddings
    yield from (name for name, law in LAWS.items() if law(planted, vocab_size=vocab_size))


def measure_continuations(model: SmolLM2) -> Iterator[Continuation]:
    """Yield what is written with no bug and with each; without a cache where the bug is the cache's."""
    prompts = {name: torch.tensor(model.tokenizer.encode(text).ids) for name, text in PROMPTS.items()}
    for bug in ("none", *PLANTABLE):
        torch.manual_seed(0)
        planted = plant(model.model, bug)
        ways = ["cache", *["no cache"] * (bug == "none" or bug.startswith("cache")), "batch"]
        for way in ways:
            groups = [prompts] if way == "batch" else [{name: ids} for name, ids in prompts.items()]
            for group in groups:
                try:
                    written = write(planted, list(group.values()), model.end_id, way != "no cache")
                    parts = [split(model, *each) for each in written]
                except FloatingPointError as error:
                    parts = [(type(error).__name__, "")] * len(group)
                for name, (text, rest) in zip(group, parts, strict=True):
                    report(bug, way, name, text, rest)
                    yield Continuation(bug, way, name, text, rest)


class Written(NamedTuple):
    """New tokens, and how many of them come before the first whose logit is hardly above another."""

    ids: list[int]
    num_sure: int


def write(model: nn.Module, prompts: list[Tensor], end_id: int, use_cache: bool) -> list[Written]:
    """Continue prompts greedily, as one batch with padding on the left."""
    ids = pad_sequence(prompts, batch_first=True, padding_value=end_id, padding_side="left")
    lengths = torch.tensor([len(prompt) for prompt in prompts])
    mask = torch.arange(ids.shape[1]) >= ids.shape[1] - lengths[:, None]
    close = []

    def choose(logits: Tensor) -> Tensor:
        best = logits.topk(2)
        close.append(best.values[:, 0] - best.values[:, 1] < LEAST_GAP)
        return best.indices[:, 0]

    with torch.no_grad():
        steps = Steps(model, ids, None if mask.all() else mask, None, None, use_cache)
        new = steps.write(choose, end_id, MAX_NEW_TOKENS)
    found = []
    for row, doubts in zip(new.tolist(), torch.stack(close, dim=1).tolist(), strict=True):
        length = row.index(end_id) if end_id in row else len(row)
        found.append(Written(row[:length], [*doubts[:length], True].index(True)))
    return found


def split(model: SmolLM2, ids: list[int], num_sure: int) -> tuple[str, str]:
    """Cut the text where it is no longer sure, between two characters."""
    whole = model.tokenizer.decode(ids)
    sure = model.tokenizer.decode(ids[:num_sure])
    while not whole.startswith(sure):
        sure = sure[:-1]
    return sure, whole[len(sure) :]


def report(*facts: object) -> None:
    """Print a row to stderr."""
    print(*facts, sep=" | ", file=sys.stderr, flush=True)


def save(path: Path, rows: Iterable[dict[str, object]]) -> None:
    """Write a table, floats with six digits."""
    first, *others = rows
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, first, lineterminator="\n")
        table.writeheader()
        for row in (first, *others):
            table.writerow({name: f"{x:.6g}" if isinstance(x, float) else x for name, x in row.items()})


def cells(row: BugRow) -> dict[str, object]:
    """Lay out a row, so that `polyhead_course.models.smollm2.bugs.bugs` reads it.

    >>> cells(BugRow("none", None, {"story": 7.0}, 5.0, 0.5, 3.0, ("step", "chunk")))["laws"]
    'step chunk'
    """
    table = {**row._asdict(), **row.perplexities, "laws": " ".join(row.laws)}
    del table["perplexities"]
    return table


TABLES: dict[str, Callable[[SmolLM2], Iterable[dict[str, object]]]] = {
    "bugs": lambda model: map(cells, measure_bugs(model)),
    "continuations": lambda model: (row._asdict() for row in measure_continuations(model)),
}


def measure(options: argparse.Namespace) -> None:
    """Write the tables."""
    model = smollm2()
    for name in options.tables:
        save(options.folder / f"{name}.csv", TABLES[name](model))


def main(arguments: list[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser("python -m experiments.smollm2_bugs", description=__doc__)
    parser.add_argument("tables", nargs="+", choices=TABLES)
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where to write them")
    parser.set_defaults(run=measure)
    run_command(parser, arguments)


if __name__ == "__main__":
    main()
