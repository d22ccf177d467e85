"""Train models of attention alone to copy, twenty seeds each: the table and the checkpoint of chapter 11."""

from __future__ import annotations

import argparse
import random
from typing import cast

import torch
from torch import Tensor, nn

from experiments.command import SEEDS, run_command
from experiments.heads import FOLDER, report, write_trials
from polyhead.checkpoint import save
from polyhead.decoder import DecoderLayer
from polyhead.heads import Head, ablate, all_heads, head_outputs, pattern_keys, replace_outputs, share
from polyhead.transformer import DecoderOnly
from polyhead_course.models.head_experiments import Trial
from polyhead_course.models.induction import LENGTH, accuracy, attention_only, texts, train

CHECKPOINT = FOLDER.parent / "checkpoints" / "copier.safetensors"
FORMS = {  # the layers, the heads of each, the dropout, the steps
    "two layers": (2, 1, 0.0, 400),
    "one layer": (1, 2, 0.0, 400),
    "one layer, longer": (1, 2, 0.0, 1600),
    "without dropout": (2, 4, 0.0, 400),
    "with dropout": (2, 4, 0.1, 400),
}


def trained(form: str, seed: int) -> tuple[DecoderOnly, list[float]]:
    """Train a model of this form."""
    layers, heads, dropout, steps = FORMS[form]
    torch.manual_seed(seed)
    model = attention_only(layers, heads, dropout)
    losses = train(model, seed, steps)
    return model.eval(), losses


@torch.no_grad()
def circuits(model: DecoderOnly) -> tuple[Tensor, Tensor]:
    """Compute two tables, (26, 26): what the second head looks for, and what it makes probable."""
    layers = cast(list[DecoderLayer], model.decoder.layers)
    first, second = (layer.self_attention for layer in layers)
    E, output = model.embedding.tokens.weight, cast(nn.Linear, model.output)
    (_, _, V0), (Q1, K1, V1) = (each.input_projection.weight.mT.chunk(3, dim=1) for each in (first, second))
    O0, O1 = first.output_projection.weight.mT, second.output_projection.weight.mT
    return (E @ Q1) @ (E @ V0 @ O0 @ K1).mT / 32**0.5, E @ V1 @ O1 @ output.weight.mT


@torch.no_grad()
def of_the_copier(model: DecoderOnly, rows: Tensor) -> dict[str, float]:
    """Measure where the two heads look, their circuits, and what the first one's output decides."""
    keys = pattern_keys(rows)
    keys["previous"][:, LENGTH:] = False
    keys["induction"][:, -1] = False
    first, second = model.attention_weights(rows)  # (500, 1, 18, 18) each
    head, other = Head("decoder", 0, 0), texts(len(rows), torch.Generator().manual_seed(2))
    with head_outputs(model) as outputs:
        model(other)
    with replace_outputs(model, {head: outputs[head]}):
        patched = accuracy(model, rows)
    rotated = torch.cat((rows[:, :LENGTH].roll(1, dims=1), rows[:, LENGTH:]), dim=1)
    with head_outputs(model) as outputs:
        model(rotated)
    with replace_outputs(model, {head: outputs[head]}):
        written = model(rows)[:, LENGTH:-1].argmax(dim=-1)
    # Which letter follows the next one? That of the first twelve which is two after the letter read.
    places = (rows[:, LENGTH:-1, None] == rows[:, None, :LENGTH]).double().argmax(dim=-1) + 2
    later = rows.gather(1, places.clamp(max=LENGTH - 1)) == written
    match, copy = (table.argmax(dim=1) == torch.arange(26) for table in circuits(model))
    return {
        "previous": share(first, keys["previous"]).item(),
        "induction": share(second, keys["induction"]).item(),
        "match": match.double().mean().item(), "copy": copy.double().mean().item(),
        "patched": patched, "two later": later[places < LENGTH].double().mean().item(),
    }  # fmt: skip


def measure(options: argparse.Namespace) -> None:
    """Write the table, and the checkpoint of seed 0."""
    rows, trials = texts(500, torch.Generator().manual_seed(1)), []
    for form in FORMS:
        for seed in SEEDS:
            model, losses = trained(form, seed)
            if (form, seed) == ("two layers", 0):
                facts = {"command": options.invocation, "torch": torch.__version__}
                save(CHECKPOINT, model, {**facts, "seed": seed, "steps": len(losses)})
            measures: dict[str, float] = {"seed": seed, "accuracy": accuracy(model, rows)}
            if "dropout" not in form:
                every = len(losses) // 40
                measures |= {f"loss {each + 1}": losses[each * every] for each in range(40)}
            if form == "two layers":
                measures |= of_the_copier(model, rows)
            trials.append(Trial(form, [], measures))
            report(trials)
            for draw in range(10 if "dropout" in form else 0):
                off = sorted(random.Random(draw).sample(all_heads(model), 3))
                with ablate(model, off):
                    measures = {"seed": seed, "accuracy": accuracy(model, rows)}
                trials.append(Trial(form, off, measures))
    write_trials(FOLDER / "heads_induction.csv", trials)


def main(arguments: list[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser("python -m experiments.induction", description=__doc__)
    parser.set_defaults(run=measure)
    run_command(parser, arguments)


if __name__ == "__main__":
    main()
