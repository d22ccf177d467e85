"""A small run of the training loop, for tests that do it in processes of their own.

`torchrun … training_run.py FOLDER` trains twice, from the start and from the state that is in the folder;
each process writes what it got beside that state, as `0.pt`, `1.pt`, ….
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn.functional as F

from polyhead import Decoder, DecoderOnly, LearnedPositions, TokenEmbedding
from polyhead.training import Recipe, is_first_process, train

NUM_EXAMPLES, LENGTH, VOCAB, STEPS = 101, 5, 13, 29
Run = tuple[list[float], dict[str, torch.Tensor]]


def recipe(**changed: object) -> Recipe:
    fixed = {"steps": STEPS, "batch_size": 7, "learning_rate": 0.01, "warmup": 3, "weight_decay": 0.1}
    return Recipe(**({**fixed, "seed": 5} | changed))  # type: ignore[arg-type]


def make(dropout: float = 0.0, embed_dim: int = 8) -> DecoderOnly:
    torch.manual_seed(3)
    embedding = TokenEmbedding(VOCAB, embed_dim, LearnedPositions(LENGTH, embed_dim), dropout=dropout)
    return DecoderOnly(embedding, Decoder(1, embed_dim, 2, cross_attention=False, dropout=dropout))


def examples() -> torch.Tensor:
    """Texts of different lengths, filled up with 0: processes get different numbers of tokens."""
    generator = torch.Generator().manual_seed(2)
    ids = torch.randint(1, VOCAB, (NUM_EXAMPLES, LENGTH), generator=generator)
    lengths = torch.randint(1, LENGTH, (NUM_EXAMPLES, 1), generator=generator)
    return ids.masked_fill(torch.arange(LENGTH) > lengths, 0)


seen: list[list[int]] = []  # the rows of each step


def loss(model: torch.nn.Module, rows: torch.Tensor) -> tuple[torch.Tensor, int]:
    seen.append(rows.tolist())
    ids = examples()[rows]
    logits, targets = model(ids[:, :-1]), ids[:, 1:]
    total = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=0, reduction="sum")
    return total, int((targets != 0).sum())


def quiet(step: int, loss: float) -> None:
    pass


def run(
    folder: Path | None = None,
    report: Callable[[int, float], None] = quiet,
    dropout: float = 0.0,
    **changed: object,
) -> Run:
    """Train, with a state kept after each step; the losses and the weights."""
    model = make(dropout)
    losses = train(model, loss, NUM_EXAMPLES, recipe(**changed), folder=folder, report=report, save_every=0)
    return losses, model.state_dict()


def alone(folder: Path, seconds: float) -> None:
    """A run that takes its time, in a process that may be killed."""
    torch.set_num_threads(1)
    run(folder, report=lambda step, loss: time.sleep(seconds), dropout=0.3)


if __name__ == "__main__":
    folder, rank = Path(sys.argv[1]), os.environ["RANK"]
    assert is_first_process() == (rank == "0")
    # Only the first process may look at the folder: the others get one that is not there.
    kept = folder if rank == "0" else folder / "elsewhere"
    torch.save({"fresh": run(), "resumed": run(kept), "rows": seen[:STEPS]}, folder / f"{rank}.pt")
    assert not (folder / "elsewhere").exists()
