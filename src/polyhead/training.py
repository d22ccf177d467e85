"""A training loop for small and large models, with the same losses after a kill, and in several processes.

All randomness of a step depends on the seed and the step alone, so that the state of a run is its weights,
the optimizer's averages and the losses so far: one file, replaced atomically. Under `torchrun` the processes
share the batch, and the gradients are those of the whole batch (DistributedDataParallel).
"""

import math
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

from polyhead.checked import Count, NotNegative, Positive, Size, checked, checked_fields
from polyhead.checkpoint import RunState, load, save
from polyhead.processes import device, has_process_group, is_first_process, join_process_group

__all__ = ["Loss", "Progress", "Recipe", "device", "is_first_process", "load", "save", "train"]

Loss = Callable[[nn.Module, Tensor], tuple[Tensor, int | Tensor]]
"""The sum of the losses of some tokens, with gradients, and how many tokens they are."""


@checked_fields
@dataclass(frozen=True)
class Recipe:
    """The settings of a run: AdamW, with linear warm-up and linear decay.

    Attributes:
        steps: the number of updates.
        batch_size: the number of examples in each, over all processes.
        learning_rate: the highest rate; at the end it is 0.
        warmup: the number of steps up to it.
        weight_decay: for matrices only, not for biases and norms.
        betas: the shares of the past in AdamW's two averages.
        clip: the largest norm of a gradient; a longer one is scaled down to it.
        seed: for the order of the examples and for dropout; the caller makes the model's first weights.

    Source: Loshchilov & Hutter 2019; the warm-up, Vaswani et al. 2017, section 5.3.

    >>> recipe = Recipe(steps=4, batch_size=8, learning_rate=0.6, warmup=1)
    >>> [round(recipe.rate(step), 2) for step in range(4)]
    [0.3, 0.6, 0.4, 0.2]
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
        if self.warmup >= self.steps:
            raise ValueError(f"warmup must be below steps = {self.steps}, got {self.warmup}")
        if len(self.betas) != 2 or not all(0 <= beta < 1 for beta in self.betas):
            raise ValueError(f"betas must be two numbers of at least 0 and below 1, got {self.betas}")

    def rate(self, step: int) -> float:
        """The learning rate of step 0, 1, …, steps - 1."""
        rise = (step + 1) / (self.warmup + 1)
        fall = (self.steps - step) / (self.steps - self.warmup)
        return self.learning_rate * min(rise, fall)


@checked
def train(
    model: nn.Module,
    loss: Loss,
    num_examples: Size,
    recipe: Recipe,
    *,
    folder: str | Path | None = None,
    data: dict[str, Any] | None = None,
    report: Callable[[int, float], None] | None = None,
    save_every: NotNegative = 30.0,
) -> list[float]:
    """Train the model in place, and leave it in evaluation mode.

    On a CPU a recipe gives the same weights, to the bit, for the same number of threads and of processes.

    Args:
        model: a model with parameters to train, on the device to train on; the same in each process.
        loss: maps (model, rows) to (total, count): the sum of the losses of `count` tokens. The rows,
            (num_rows,), are the numbers of this process's examples. It must call the model that it gets.
        num_examples: the number of examples; each is used once before one is used again.
        recipe: all other settings of the run.
        folder: where to keep the run's state: a run that was killed continues from it, a finished one is
            only read. Only the first process reads or writes it. None: keep nothing.
        data: what identifies the examples, such as a version, as JSON: `train` sees no more of them than
            `loss` does, and continues a run in `folder` only if number and `data` are the same.
        report: called in the first process with the steps done and the last one's loss; `Progress` if None.
        save_every: seconds between two writes of the state, each at the end of a step.

    Returns:
        The mean loss of each step, over the whole batch, before the step's update.

    Raises:
        ValueError: no parameter can be trained, or the folder has a run with another recipe, model, number
            of examples or `data`.
        FloatingPointError: a loss is infinite or NaN; the last state in the folder remains.

    >>> model = nn.Linear(1, 1)
    >>> def loss(model, rows):  # y = 2x
    ...     x = rows[:, None].float()
    ...     return (model(x) - 2 * x).square().sum(), len(rows)
    >>> recipe = Recipe(steps=200, batch_size=4, learning_rate=0.1)
    >>> losses = train(model, loss, 4, recipe, report=lambda step, loss: None)
    >>> losses[-1] < 0.01
    True
    """
    trainable = next((each for each in model.parameters() if each.requires_grad), None)
    if trainable is None:
        raise ValueError(f"model must have parameters that require gradients, got a {type(model).__name__}")
    place = trainable.device
    rank, size = join_process_group(place)
    if recipe.batch_size < size:
        raise ValueError(f"batch_size must be at least 1 a process, {size}, got {recipe.batch_size}")
    with torch.random.fork_rng(devices=[place.index or 0] if place.type == "cuda" else []):
        optimizer = _optimizer(model, recipe)
        facts = {**asdict(recipe), "num_examples": num_examples} | ({} if data is None else {"data": data})
        state = RunState(folder, model, optimizer, facts, is_writer=rank == 0)
        losses = state.resume()
        report = report or Progress(recipe.steps, len(losses))
        replica = DistributedDataParallel(model) if has_process_group() else model
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
    """Make one step along the gradient of the mean loss over all processes' tokens; return that mean."""
    total, count = loss(model, rows)
    sums, size = torch.tensor([total.item(), float(count)], dtype=torch.float64), 1
    if has_process_group():
        sums, size = sums.to(total.device), dist.get_world_size()
        dist.all_reduce(sums)
    loss_sum, num_tokens = sums.tolist()
    if num_tokens <= 0 or not math.isfinite(loss_sum):
        raise FloatingPointError(f"step {step}: loss must be finite, got {loss_sum} of {num_tokens:g} tokens")
    # DistributedDataParallel averages the processes' gradients; times their number it is the sum.
    (total * (size / num_tokens)).backward()
    nn.utils.clip_grad_norm_(model.parameters(), recipe.clip)
    for group in optimizer.param_groups:
        group["lr"] = recipe.rate(step)
    optimizer.step()
    optimizer.zero_grad()
    return loss_sum / num_tokens


def _batch(recipe: Recipe, num_examples: int, step: int) -> Tensor:
    """The rows of a step, (batch_size,): one shuffled pass through the examples after another."""
    indices = torch.arange(step * recipe.batch_size, (step + 1) * recipe.batch_size)
    passes = indices // num_examples
    orders = {number: _shuffled(recipe.seed, number, num_examples) for number in sorted(set(passes.tolist()))}
    return torch.cat([order[indices[passes == n] % num_examples] for n, order in orders.items()])


@lru_cache(maxsize=2)
def _shuffled(seed: int, number: int, num_examples: int) -> Tensor:
    generator = torch.Generator().manual_seed(_seed("order", seed, number))
    return torch.randperm(num_examples, generator=generator)


def _seed(*parts: object) -> int:
    """Hash several parts to one number of 32 bits; the CPU's generator takes no more."""
    return zlib.crc32(repr(parts).encode())


class Progress:
    """Prints the progress of a run to stderr, at most once in some seconds, and at its end.

    >>> report = Progress(steps=600)
    >>> report(1, 2.5)  # too early for a line
    """

    def __init__(self, steps: int, done: int = 0, seconds: float = 5.0) -> None:
        """Start the clock for a run of `steps` of which some are `done`."""
        self.steps, self.done, self.seconds = steps, done, seconds
        self.start = self.last_print = time.monotonic()

    def __call__(self, step: int, loss: float) -> None:
        """Print `step 300/600  loss 0.0123  20 s left`, if it is time for a line."""
        now = time.monotonic()
        if now - self.last_print >= self.seconds or step == self.steps:
            left = (self.steps - step) * (now - self.start) / (step - self.done)
            line = f"step {step}/{self.steps}  loss {loss:.4f}  {left:.0f} s left"
            print(line, file=sys.stderr, flush=True)
            self.last_print = now
