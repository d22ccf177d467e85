"""Measure what the heads of SmolLM2 do: the tables of the chapter on it, in an hour of CPU time."""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from experiments.command import run_command
from experiments.heads import random_heads, report, write_trials
from polyhead import DecoderOnly
from polyhead.cache import positions_and_mask
from polyhead.heads import (
    Head,
    ablate,
    all_heads,
    control_heads,
    head_outputs,
    pattern_keys,
    replace_outputs,
    share,
)
from polyhead.pretrained import SmolLM2, smollm2
from polyhead_course.models import smollm2 as tables
from polyhead_course.models.head_experiments import Trial
from polyhead_course.models.smollm2.atlas import THRESHOLDS, AtlasRow, atlas, kind_of
from polyhead_course.models.smollm2.texts import texts

FOLDER = Path(tables.__file__).parent
SEEDS = range(10)
CHOICE = 100  # the seed on which heads are chosen: on those of SEEDS they are only measured
DRAWS = 5


class Batch(NamedTuple):
    """Padded sentences; `predicted` are the tokens whose cross-entropy counts."""

    ids: Tensor  # (batch, length)
    mask: Tensor  # (batch, length)
    predicted: Tensor  # (batch, length), False at the first token
    starts: Tensor | None = None  # (batch, length)


def text_batch(model: SmolLM2) -> Batch:
    """Tokenize the ten texts, each as it is; every token but the first is predicted."""
    encodings = [model.tokenizer.encode(text) for text in texts().values()]
    rows = [torch.tensor(encoding.ids) for encoding in encodings]
    starts = [torch.tensor(sentence_starts(encoding.tokens)) for encoding in encodings]
    ids, mask, all_starts = (
        torch.nn.utils.rnn.pad_sequence(each, batch_first=True)
        for each in (rows, [torch.ones_like(row, dtype=torch.bool) for row in rows], starts)
    )
    return Batch(ids, mask, mask & (torch.arange(ids.shape[1]) > 0), all_starts)


def sentence_starts(tokens: Sequence[str]) -> list[bool]:
    """Find the tokens that begin a sentence: the first, and each after one that ends with ".", "!" or "?".

    A quotation mark may follow the full stop in its token.

    >>> sentence_starts(["Yes", ".", "ĠShe", "Ġsaid", '."', "Ġ2"])
    [True, False, True, False, False, True]
    """
    ends = [token.rstrip('"').endswith((".", "!", "?")) for token in tokens[:-1]]
    return [True, *ends]


def repeated_tokens(seed: int, length: int = 25, batch: int = 8) -> Tensor:
    """Draw token ids that come twice, (batch, 1 + 2 · length): in the second half only copying helps.

    The first token is <|im_start|>, the others are drawn from 1,000 … 39,999, words and parts of words.

    Source: Olsson et al. 2022, https://arxiv.org/abs/2209.11895.

    >>> repeated_tokens(0, length=3, batch=1)
    tensor([[    1, 16044, 17239, 36933, 16044, 17239, 36933]])
    """
    tokens = torch.randint(1_000, 40_000, (batch, length), generator=torch.Generator().manual_seed(seed))
    return torch.cat([torch.ones_like(tokens[:, :1]), tokens, tokens], dim=1)


def random_batch(seed: int) -> Batch:
    """Draw random tokens that come twice; those of the second half are predicted."""
    ids = repeated_tokens(seed)
    second = (torch.arange(ids.shape[1]) > ids.shape[1] // 2).expand_as(ids)
    return Batch(ids, torch.ones_like(ids, dtype=torch.bool), second)


# ---- the table of all heads


@torch.inference_mode()
def shares(model: DecoderOnly, batch: Batch, patterns: Iterable[str]) -> dict[str, Tensor]:
    """Measure the share of each pattern for each head, (num_layers, num_heads)."""
    weights = model.attention_weights(batch.ids, batch.mask)
    keys = pattern_keys(batch.ids, batch.mask, batch.starts)
    return {name: torch.stack([share(layer, keys[name]) for layer in weights]) for name in patterns}


@torch.inference_mode()
def loss_rises(
    model: DecoderOnly,
    batch: Batch,
    heads: Collection[Head],
    off: Callable[[Head], AbstractContextManager[None]],
) -> dict[Head, float]:
    """Measure by how much the mean cross-entropy rises with each of the heads off.

    The layers below a head give the same with it and without: they are computed once for all heads.
    """
    inputs, losses = layer_inputs(model, batch), {}

    def loss(start: int) -> float:
        return cross_entropy(model, decode(model, batch, inputs, start)[0], batch)

    untouched = loss(0)
    for head in heads:
        with off(head):
            losses[head] = loss(head.layer) - untouched
    return losses


def layer_inputs(model: DecoderOnly, batch: Batch) -> list[Tensor]:
    """Compute what goes into each layer; with heads of later layers off, it is the same."""
    positions, mask = positions_and_mask(batch.ids, batch.mask)
    inputs = [model.embedding(batch.ids, positions)]
    for layer in model.decoder.layers:
        inputs.append(layer(inputs[-1], mask=mask, positions=positions)[0])
    return inputs


def decode(
    model: DecoderOnly, batch: Batch, inputs: Sequence[Tensor], start: int
) -> tuple[Tensor, dict[int, Tensor]]:
    """Compute the layers from `start` on: the decoder's states, and the weights of each of these layers."""
    positions, mask = positions_and_mask(batch.ids, batch.mask)
    decoder, x, weights = model.decoder, inputs[start], {}
    for number, layer in list(enumerate(decoder.layers))[start:]:
        x, both = layer(x, mask=mask, need_weights=True, positions=positions)
        weights[number] = both.self_attention
    return x if decoder.norm is None else decoder.norm(x), weights


def cross_entropy(model: DecoderOnly, states: Tensor, batch: Batch) -> float:
    """Compute the mean cross-entropy of the predicted tokens, in nats, from the decoder's states."""
    logits = model.output(states[:, :-1][batch.predicted[:, 1:]])
    return F.cross_entropy(logits, batch.ids[batch.predicted]).item()


def measure_shares(model: SmolLM2) -> dict[Head, dict[str, float]]:
    """Measure the share of each pattern for each head, rounded as in the table."""
    natural = [name for name in THRESHOLDS if name not in ("induction", "duplicate")]
    found = shares(model.model, text_batch(model), natural)
    seeds = [shares(model.model, random_batch(seed), ["induction", "duplicate"]) for seed in SEEDS]
    found |= {name: torch.stack([seed[name] for seed in seeds]).mean(dim=0) for name in seeds[0]}
    return {
        head: {name: round(found[name][head.layer, head.head].item(), 3) for name in THRESHOLDS}
        for head in all_heads(model.model)
    }


@torch.inference_mode()
def measure_losses(model: SmolLM2, heads: Collection[Head]) -> dict[str, dict[Head, float]]:
    """Measure the rise of the cross-entropy with each of the heads off, in three ways."""
    decoder, batch = model.model, text_batch(model)
    means = mean_outputs(decoder, batch)
    ways: dict[str, tuple[Batch, Callable[[Head], AbstractContextManager[None]]]] = {
        "zero": (batch, lambda head: ablate(decoder, [head])),
        "mean": (batch, lambda head: replace_outputs(decoder, {head: means[head]})),
        "copying": (random_batch(0), lambda head: ablate(decoder, [head])),
    }
    return {name: loss_rises(decoder, each, heads, off) for name, (each, off) in ways.items()}


def mean_outputs(model: DecoderOnly, batch: Batch) -> dict[Head, Tensor]:
    """Compute each head's mean output over all tokens, (head_dim,)."""
    with head_outputs(model) as outputs:
        model(batch.ids, batch.mask)
    return {head: output[batch.mask].mean(dim=0) for head, output in outputs.items()}


def measure_atlas(options: argparse.Namespace) -> None:
    """Write the table of all heads."""
    model = smollm2()
    found, rises = measure_shares(model), measure_losses(model, all_heads(model.model))
    rows = [
        AtlasRow(head, kind_of(each), each, {way: rise[head] for way, rise in rises.items()})
        for head, each in found.items()
    ]
    write_atlas(options.folder / "atlas.csv", rows)


def write_atlas(path: Path, rows: Iterable[AtlasRow]) -> None:
    """Write a table that `polyhead_course.models.smollm2.atlas.atlas` reads."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        for number, (head, kind, found, losses) in enumerate(rows):
            if number == 0:
                writer.writerow(["layer", "head", "kind", *found, *losses])
            figures = [
                f"{round(figure, 3) + 0.0:.3f}" for figure in [*found.values(), *losses.values()]
            ]  # no -0
            writer.writerow([head.layer, head.head, kind, *figures])


# ---- the tables of copying and of sinks


def best_heads(measures: Mapping[Head, float]) -> list[Head]:
    """Return the eight heads of the highest measures, the best first."""
    return sorted(measures, key=lambda head: -measures[head])[:8]


def with_controls(
    model: DecoderOnly, experiment: str, heads: Sequence[Head]
) -> Iterator[tuple[str, list[Head]]]:
    """Yield the first 1, 2, 4 and 8 of the heads, and each time `DRAWS` sets of others of the same layers."""
    for number in (1, 2, 4, 8):
        yield experiment, list(heads[:number])
        for draw in range(DRAWS):
            generator = torch.Generator().manual_seed(draw)
            yield f"{experiment} control", control_heads(model, heads[:number], generator, exclude=heads)


def sink_removals() -> Iterator[tuple[str, list[Head]]]:
    """Yield nothing, all heads of the kind "first", and `DRAWS` times as many others of the model."""
    rows = atlas()
    heads = [row.head for row in rows if row.kind == "first"]
    others = [row.head for row in rows if row.kind != "first"]
    yield "none", []
    yield "first", heads
    for draw in range(DRAWS):
        yield "first control", random_heads(others, len(heads), draw)


@torch.inference_mode()
def measure_copying(options: argparse.Namespace) -> None:
    """Write the table of copying; the previous-token heads are those below all of the induction heads."""
    model = smollm2().model
    found = shares(model, random_batch(CHOICE), ["induction"])["induction"]
    copying = best_heads({head: found[head.layer, head.head].item() for head in all_heads(model)})
    lowest = min(head.layer for head in copying)
    previous = best_heads({row.head: row.shares["previous"] for row in atlas() if row.head.layer < lowest})
    removals = [
        ("none", []),
        *with_controls(model, "induction", copying),
        *with_controls(model, "previous", previous),
    ]
    trials: list[Trial] = []
    for seed in SEEDS:
        batch = random_batch(seed)
        inputs = layer_inputs(model, batch)
        for experiment, heads in removals:
            measures = copying_measures(model, batch, inputs, copying, heads)
            trials.append(Trial(experiment, heads, {"seed": seed, **measures}))
            report(trials)
        write_trials(options.folder / "copying.csv", trials)


def copying_measures(
    model: DecoderOnly, batch: Batch, inputs: Sequence[Tensor], copying: Sequence[Head], off: Sequence[Head]
) -> dict[str, float]:
    """Measure with heads off the cross-entropy of both halves, and the copying heads' induction share."""
    with ablate(model, off):
        states, weights = decode(model, batch, inputs, min(head.layer for head in [*copying, *off]))
    keys = pattern_keys(batch.ids)["induction"]
    found = {layer: share(weights[layer], keys) for layer in {head.layer for head in copying}}
    mean = sum(found[head.layer][head.head].item() for head in copying) / len(copying)
    first = ~batch.predicted & (torch.arange(batch.ids.shape[1]) > 0)
    figures = {
        "first_half": cross_entropy(model, states, batch._replace(predicted=first)),
        "second_half": cross_entropy(model, states, batch),
        "induction": mean,
    }
    return {name: round(figure, 3) for name, figure in figures.items()}


@torch.inference_mode()
def measure_sinks(options: argparse.Namespace) -> None:
    """Write the table of sinks: by text, and the cross-entropy of the texts with heads off in two ways."""
    smol, trials = smollm2(), []
    model, batch = smol.model, text_batch(smol)
    for number, name in enumerate(texts()):
        row = slice(number, number + 1), slice(int(batch.mask[number].sum()))
        text = Batch(batch.ids[row], batch.mask[row], batch.predicted[row])
        found = shares(model, text, ["first"])["first"]
        thirds = zip(("lower", "middle", "upper"), found.chunk(3), strict=True)
        measures = {third: round(part.mean().item(), 3) for third, part in thirds}
        trials.append(Trial(name, [], {**measures, "above": int((found > 0.5).sum())}))
        report(trials)
    means, inputs = mean_outputs(model, batch), layer_inputs(model, batch)
    for experiment, heads in sink_removals():
        measures = {}
        replaced = replace_outputs(model, {head: means[head] for head in heads})
        for way, off in ("zero", ablate(model, heads)), ("mean", replaced):
            with off:
                measures[way] = round(cross_entropy(model, decode(model, batch, inputs, 0)[0], batch), 3)
        trials.append(Trial(experiment, heads, measures))
        report(trials)
    write_trials(options.folder / "sinks.csv", trials)


def main(arguments: list[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser("python -m experiments.smollm2", description=__doc__)
    commands = parser.add_subparsers(required=True)
    runs = {"atlas": measure_atlas, "copying": measure_copying, "sinks": measure_sinks}
    for name, run in runs.items():
        command = commands.add_parser(name)
        command.add_argument("--folder", type=Path, default=FOLDER, help="where to write the table")
        command.set_defaults(run=run)
    run_command(parser, arguments)


if __name__ == "__main__":
    main()
