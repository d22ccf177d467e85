"""`python experiments/heads.py`: make the tables of the chapter on heads anew, or those that are named."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import torch
from torch import Tensor, nn

from polyhead.heads.removal import ablate, all_heads, importance
from polyhead.multi_head.fused import MultiHeadAttention
from polyhead.pretrained import MiniLM, load_minilm
from polyhead.training import train
from polyhead_course.models import head_experiments
from polyhead_course.models.head_experiments import DRAWS, Measures, Trial, measured, random_heads, written
from polyhead_course.models.ranking import (
    loss,
    mean_reciprocal_rank,
    query_title_pairs,
    ranks,
    search,
    static,
    tf_idf,
)
from polyhead_course.models.translation import (
    TARGETS,
    Translator,
    exact_match,
    held_out_pairs,
    load_translator,
    recipe,
    training_pairs,
)
from polyhead_course.models.translation.learning import NUM_PAIRS

DATA = Path(head_experiments.__file__).parent / "data"


def write(table: str, trials: list[Trial]) -> None:
    """The table, anew."""
    with (DATA / f"heads_{table}.csv").open("w", encoding="utf-8", newline="") as file:
        names = dict.fromkeys(name for trial in trials for name in trial.measures)
        rows = csv.DictWriter(file, ["experiment", "off", *names], lineterminator="\n")
        rows.writeheader()
        for experiment, off, measures in trials:
            values = {name: f"{value:.6g}" for name, value in measures.items()}
            rows.writerow({"experiment": experiment, "off": written(off), **values})


def minilm() -> list[Trial]:
    """The search task, and beside it what needs no attention, or no training."""
    model, pairs = load_minilm(), query_title_pairs()

    def measures(similarities: Tensor) -> Measures:
        first = float((ranks(similarities) == 1).float().mean())
        return {"mean_reciprocal_rank": mean_reciprocal_rank(similarities), "first": first}

    # Each query is asked among its own title and those of up to 16 neighbours.
    examples = [([pair], [*pairs[max(i - 8, 0) : i], *pairs[i + 1 : i + 9]]) for i, pair in enumerate(pairs)]
    scores = importance(model, lambda example: loss(model, *example), examples)
    return [
        Trial("tf-idf", [], measures(tf_idf(pairs))),
        Trial("static", [], measures(static(model, pairs))),
        *(Trial("untrained", [], measures(search(untrained(seed), pairs))) for seed in range(3)),
        *measured(model, scores, lambda: measures(search(model, pairs))),
    ]


def untrained(seed: int) -> MiniLM:
    """MiniLM with weights as BERT starts from."""
    torch.manual_seed(seed)
    fresh = load_minilm()
    for name, parameter in fresh.named_parameters():
        if parameter.ndim > 1:
            torch.nn.init.normal_(parameter, std=0.02)
        else:
            torch.nn.init.constant_(parameter, 1.0 if name.endswith("norm.weight") else 0.0)
    return fresh


def translator() -> list[Trial]:
    """The date translator: how many held-out dates it gets exactly; every eleventh is asked."""
    loaded = load_translator()
    pairs = {to: held_out_pairs(to)[::11] for to in TARGETS}
    asked = [pair for own in pairs.values() for pair in own[::7]]
    surprise = loaded.loss(asked)

    def measures() -> Measures:
        exact: Measures = {to: exact_match(loaded, own) for to, own in pairs.items()}
        return {"exact_match": sum(exact.values()) / len(exact), **exact}

    rows = [torch.tensor([row]) for row in range(len(asked))]
    scores = importance(loaded.model, lambda row: surprise(loaded.model, row)[0], rows)
    return measured(loaded.model, scores, measures)


def dropout() -> list[Trial]:
    """Translators trained without dropout and with it: how many dates they get with 5 or 12 heads off."""
    pairs, done = [pair for to in TARGETS for pair in held_out_pairs(to)[::35]], []
    for probability in (0.0, 0.1):
        for seed in range(3):
            made = trained(probability, seed)
            heads = all_heads(made.model)
            for off in (
                [],
                *(random_heads(heads, number, draw) for number in (5, 12) for draw in range(DRAWS)),
            ):
                with ablate(made.model, off):
                    measures = {"dropout": probability, "seed": seed, "exact_match": exact_match(made, pairs)}
                done.append(Trial("random" if off else "none", off, measures))
                print(len(done), len(off), measures, file=sys.stderr, flush=True)
    return done


def trained(probability: float, seed: int, steps: int = 600) -> Translator:
    """A translator that differs from the committed one in its dropout, seed and steps."""
    known = training_pairs(NUM_PAIRS, seed)
    torch.manual_seed(seed)
    made = Translator.of(known)
    for module in made.model.modules():
        if isinstance(module, nn.Dropout):
            module.p = probability
        if isinstance(module, MultiHeadAttention):
            module.dropout = probability
    train(made.model, made.loss(known), len(known), recipe(steps, seed))
    made.model.eval()
    return made


if __name__ == "__main__":
    tables = {"minilm": minilm, "translator": translator, "dropout": dropout}
    for name in sys.argv[1:] or tables:
        write(name, tables[name]())
