"""One training loop for small and large models: the same losses whenever it is killed, however it is shared.

Everything that is random in a step depends on the seed and the step alone, so that a run's whole state is its
weights, the optimizer's averages and the losses so far: one file, replaced in one move. Under `torchrun` the
batch is shared among the processes, and the gradients are those of the whole batch (DistributedDataParallel).
"""

from __future__ import annotations

import atexit
import datetime
import math
import os
import shutil
import sys
import time
import zlib
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from polyhead.checked import Count, NotNegative, Positive, Size, checked
from polyhead.checkpoint import RunState, joined, load, save

__all__ = [
    "Loss",
    "Progress",
    "Recipe",
    "device",
    "is_first_process",
    "load",
    "make_checkpoint",
    "provenance",
    "save",
    "train",
]

Loss = Callable[[nn.Module, Tensor], tuple[Tensor, int | Tensor]]
"""The sum of the losses of some tokens, with gradients, and how many tokens they are."""


@dataclass(frozen=True)
class Recipe:
    """All that decides a run beside model and data: AdamW, warm-up and decay in straight lines.

    Attributes:
        steps: how many updates there are.
        batch_size: how many examples each has, over all processes.
        learning_rate: what it rises to; then it falls to 0 at the end.
        warmup: in how many steps it rises.
        weight_decay: of matrices alone, neither biases nor norms.
        betas: the shares of the past in AdamW's two averages.
        clip: the longest gradient; a longer one is shortened to this norm.
        seed: of the examples' order and of dropout; the model's first weights are the caller's.

    Source: Loshchilov & Hutter 2019; the warm-up, Vaswani et al. 2017, section 5.3.
    """

    steps: Size
    batch_size: Size
    learning_rate: Positive
    warmup: Count = 0
    weight_decay: NotNegative = 0.0
    betas: tuple[float, float] = (0.9, 0.999)
    clip: Positive = 1.0
    seed: Count = 0

    def __post_init__(self) -> None:
        _check_recipe(**vars(self))

    def rate(self, step: int) -> float:
        """The learning rate of step 0, 1, …, steps - 1."""
        rise = (step + 1) / (self.warmup + 1)
        fall = (self.steps - step) / (self.steps - self.warmup)
        return self.learning_rate * min(rise, fall)


@checked
def _check_recipe(
    steps: Size,
    batch_size: Size,
    learning_rate: Positive,
    warmup: Count,
    weight_decay: NotNegative,
    betas: tuple[float, float],
    clip: Positive,
    seed: Count,
) -> None:
    if warmup >= steps:
        raise ValueError(f"warmup must be below steps = {steps}, got {warmup}")
    if len(betas) != 2 or not all(0 <= beta < 1 for beta in betas):
        raise ValueError(f"betas must be two numbers of at least 0 and below 1, got {betas}")


@checked
def train(
    model: nn.Module,
    loss: Loss,
    num_examples: Size,
    recipe: Recipe,
    *,
    folder: str | Path | None = None,
    report: Callable[[int, float], None] | None = None,
    save_every: NotNegative = 30.0,
) -> list[float]:
    """Train the model where it is, and leave it in evaluation mode.

    On a CPU the weights are the same to the bit for a recipe, a number of threads and of processes.

    Args:
        model: on the device on which it is to be trained, see `device`; the same in each process.
        loss: (model, rows) to (total, count): the losses of `count` tokens, summed. The rows, (num_rows,),
            are the numbers of the examples that this process has to look at. It calls the model it is given.
        num_examples: how many there are; each is seen once before one is seen again.
        recipe: what else decides the run.
        folder: where the run's state is kept: a run that was killed goes on from there, a finished one is
            read. Only the first process reads or writes it. None: nothing is kept.
        report: called in the first process with the steps done and the last one's loss; `Progress` if None.
        save_every: seconds after which the state is written again, at the end of a step.

    Returns:
        The mean loss of each step, over the whole batch, before the step's update.

    Raises:
        ValueError: the folder holds a run of another recipe, model or number of examples.
        FloatingPointError: a loss is infinite or NaN; the state of before is kept.
    """
    place = next(model.parameters()).device
    rank, size = _processes(place)
    if recipe.batch_size < size:
        raise ValueError(f"batch_size must be at least 1 a process, {size}, got {recipe.batch_size}")
    with torch.random.fork_rng(devices=_gpus(place)):
        optimizer = _optimizer(model, recipe)
        facts = {**asdict(recipe), "num_examples": num_examples}
        state = RunState(folder, model, optimizer, facts, is_writer=rank == 0)
        losses = state.resume()
        report = report or Progress(recipe.steps, len(losses))
        replica = DistributedDataParallel(model) if joined() else model
        for step in range(len(losses), recipe.steps):
            torch.manual_seed(_seed("noise", recipe.seed, step, rank))
            rows = _batch(recipe, num_examples, step)[rank::size]
            model.train()
            losses.append(_update(replica, loss, rows, optimizer, recipe, step))
            state.keep(losses, 0.0 if step + 1 == recipe.steps else save_every)
            if rank == 0:
                report(step + 1, losses[-1])
    model.eval()
    return losses


def _optimizer(model: nn.Module, recipe: Recipe) -> torch.optim.AdamW:
    parameters = list(model.parameters())
    groups: list[dict[str, Any]] = [
        {"params": [p for p in parameters if p.ndim > 1], "weight_decay": recipe.weight_decay},
        {"params": [p for p in parameters if p.ndim <= 1], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=recipe.learning_rate, betas=recipe.betas)


def _update(
    model: nn.Module, loss: Loss, rows: Tensor, optimizer: torch.optim.Optimizer, recipe: Recipe, step: int
) -> float:
    """One step of the optimizer, along the gradient of the mean over all processes' tokens; the mean."""
    total, count = loss(model, rows)
    sums, size = torch.tensor([total.item(), float(count)], dtype=torch.float64), 1
    if joined():
        sums, size = sums.to(total.device), dist.get_world_size()
        dist.all_reduce(sums)
    all_totals, all_counts = sums.tolist()
    if all_counts <= 0 or not math.isfinite(all_totals):
        raise FloatingPointError(
            f"step {step}: loss must be finite, got {all_totals} of {all_counts:g} tokens"
        )
    # The processes' gradients are averaged: times their number it is the sum.
    (total * (size / all_counts)).backward()
    nn.utils.clip_grad_norm_(model.parameters(), recipe.clip)
    for group in optimizer.param_groups:
        group["lr"] = recipe.rate(step)
    optimizer.step()
    optimizer.zero_grad()
    return all_totals / all_counts


def _batch(recipe: Recipe, num_examples: int, step: int) -> Tensor:
    """The rows of a step, (batch_size,): one shuffled pass through the examples after another."""
    places = torch.arange(step * recipe.batch_size, (step + 1) * recipe.batch_size)
    passes = places // num_examples
    return torch.cat(
        [
            _shuffled(recipe.seed, number, num_examples)[places[passes == number] % num_examples]
            for number in sorted(set(passes.tolist()))
        ]
    )


@lru_cache(maxsize=2)
def _shuffled(seed: int, number: int, num_examples: int) -> Tensor:
    generator = torch.Generator().manual_seed(_seed("order", seed, number))
    return torch.randperm(num_examples, generator=generator)


def _seed(*parts: object) -> int:
    """One number of several; of 32 bits, as the CPU's generator takes no more."""
    return zlib.crc32(repr(parts).encode())


class Progress:
    """Says on stderr how far a run is, at most once in some seconds, and at its end."""

    def __init__(self, steps: int, done: int = 0, seconds: float = 5.0) -> None:
        """Remember how many steps there are, and how many were done before now."""
        self.steps, self.done, self.seconds = steps, done, seconds
        self.start = self.said = time.monotonic()

    def __call__(self, step: int, loss: float) -> None:
        """Print `step 300/600  loss 0.0123  20 s left`, if it is time to."""
        now = time.monotonic()
        if now - self.said >= self.seconds or step == self.steps:
            left = (self.steps - step) * (now - self.start) / (step - self.done)
            print(
                f"step {step}/{self.steps}  loss {loss:.4f}  {left:.0f} s left", file=sys.stderr, flush=True
            )
            self.said = now


# ---- processes


def device() -> torch.device:
    """Where this process trains: the GPU of its number on this machine, or the CPU where there is none."""
    if torch.cuda.is_available():
        return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
    return torch.device("cpu")


def is_first_process() -> bool:
    """Whether this is the process that writes: of several, `torchrun` numbers one 0."""
    return os.environ.get("RANK", "0") == "0"


def _processes(place: torch.device) -> tuple[int, int]:
    """The number of this process and of all: 0 and 1, unless `torchrun` started it."""
    if place.type == "cuda":
        torch.cuda.set_device(place)
    if dist.is_available() and dist.is_torchelastic_launched() and not joined():
        dist.init_process_group("nccl" if place.type == "cuda" else "gloo")
        atexit.register(dist.destroy_process_group)  # not before: a group cannot be made a second time
    return (dist.get_rank(), dist.get_world_size()) if joined() else (0, 1)


def _gpus(place: torch.device) -> list[int]:
    return [place.index or 0] if place.type == "cuda" else []


def provenance(command: str, recipe: Recipe) -> dict[str, Any]:
    """What a checkpoint should say of how it was made: command, recipe, versions, threads, processes, day."""
    return {
        "command": command,
        "recipe": asdict(recipe),
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),
        "processes": int(os.environ.get("WORLD_SIZE", "1")),
        "date": datetime.date.today().isoformat(),
    }


def make_checkpoint(
    path: Path,
    model: nn.Module,
    loss: Loss,
    num_examples: int,
    recipe: Recipe,
    facts: dict[str, Any],
    command: str,
) -> None:
    """Train, with the run's state in a folder beside `path` until the checkpoint is written there.

    Beside the facts it holds its provenance, and the first losses, by which a machine can be compared.
    """
    folder = Path(f"{path}.run")
    losses = train(model, loss, num_examples, recipe, folder=folder)
    if is_first_process():
        first = [round(each, 4) for each in losses[:20]]
        save(path, model, {**facts, **provenance(command, recipe), "first_losses": first})
        shutil.rmtree(folder)
