"""Measure search and translation with heads off: the tables of the chapter on heads, in 25 CPU minutes."""

from __future__ import annotations

import argparse
import csv
import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from experiments.command import run_command
from polyhead.heads import Head, ablate, all_heads, by_layer, importance
from polyhead.multi_head.fused import MultiHeadAttention
from polyhead.pretrained import MiniLM, load_minilm
from polyhead.training import train
from polyhead_course.models import head_experiments
from polyhead_course.models.head_experiments import Trial
from polyhead_course.models.ranking import Pair, loss, mean_reciprocal_rank, query_title_pairs, ranks, search
from polyhead_course.models.translation import (
    TARGETS,
    Translator,
    exact_match,
    held_out_pairs,
    load_translator,
    recipe,
    training_pairs,
)
from polyhead_course.models.translation.translator import NUM_PAIRS

FOLDER = Path(head_experiments.__file__).parent / "data"
SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)  # of the heads that are off
DRAWS = 10

# ---- which heads are off


def random_heads(heads: Collection[Head], number: int, draw: int) -> list[Head]:
    """Draw so many of the heads; the same for the same numbers."""
    return sorted(random.Random(f"{number} of {len(heads)}, {draw}").sample(sorted(heads), number))


def removals(model: nn.Module, scores: Mapping[Head, float]) -> Iterator[tuple[str, list[Head]]]:
    """Yield what to switch off: nothing, all, heads at random and by importance, layers, single heads."""
    heads = all_heads(model)
    yield "none", []
    yield "all", heads
    numbers = [round(share * len(heads)) for share in SHARES]
    for number in numbers:
        for draw in range(DRAWS):
            yield "random", random_heads(heads, number, draw)
    for suffix, ranking in ("", scores), (" in its layer", by_layer(scores)):
        order = sorted(heads, key=ranking.__getitem__)
        for number in numbers:
            yield "least important" + suffix, order[:number]
            yield "most important" + suffix, order[-number:]
    for layer in sorted({head[:2] for head in heads}):
        yield "layer", [head for head in heads if head[:2] == layer]
    yield from _removals_by_half(heads)
    for head in heads:
        yield "single", [head]


def _removals_by_half(heads: Sequence[Head]) -> Iterator[tuple[str, list[Head]]]:
    """Yield equally many heads of the lower and of the upper half of the layers."""
    layers = sorted({head.layer for head in heads})
    middle = len(layers) // 2
    for name, half in ("lower", layers[:middle]), ("upper", layers[middle:]):
        candidates = [head for head in heads if head.layer in half]
        for number in (round(share * len(candidates)) for share in (0.2, 0.5, 0.8)):
            for draw in range(DRAWS):
                yield name, random_heads(candidates, number, draw)
        yield name, candidates


def measure_removals(
    model: nn.Module, scores: Mapping[Head, float], measure: Callable[[], dict[str, float]]
) -> list[Trial]:
    """Measure the model under all `removals`; a single head has its importance beside the measurements."""
    trials: list[Trial] = []
    for experiment, heads in removals(model, scores):
        with ablate(model, heads):
            measures = measure()
        if experiment == "single":
            measures["importance"] = scores[heads[0]]
        trials.append(Trial(experiment, heads, measures))
        report(trials)
    return trials


def report(trials: Sequence[Trial]) -> None:
    """Print the last of the trials to stderr."""
    experiment, heads, measures = trials[-1]
    print(len(trials), experiment, len(heads), measures, file=sys.stderr, flush=True)


# ---- the tables


def minilm() -> list[Trial]:
    """Measure the search task, and beside it what needs no attention, or no training."""
    model, pairs = load_minilm(), query_title_pairs()

    def measures(similarities: Tensor) -> dict[str, float]:
        first = float((ranks(similarities) == 1).float().mean())
        return {"mean_reciprocal_rank": mean_reciprocal_rank(similarities), "first": first}

    # The titles to choose from are a query's own and those of up to 16 neighbours.
    examples = [([pair], [*pairs[max(i - 8, 0) : i], *pairs[i + 1 : i + 9]]) for i, pair in enumerate(pairs)]
    scores = importance(model, lambda example: loss(model, *example), examples)
    return [
        Trial("tf-idf", [], measures(tf_idf(pairs))),
        Trial("static", [], measures(static(model, pairs))),
        *(Trial("untrained", [], measures(search(untrained_minilm(seed), pairs))) for seed in range(3)),
        *measure_removals(model, scores, lambda: measures(search(model, pairs))),
    ]


def tf_idf(pairs: Sequence[Pair]) -> Tensor:
    """Compute a similarity by words alone, without a model: the cosine of tf-idf vectors.

    A word in n of N texts has the weight log(N / n); texts without a common word have similarity 0.

    >>> tf_idf([Pair("red fox", "a fox"), Pair("blue sky", "the blue sky")])[0, 1]
    tensor(0.)
    """
    texts = [Counter(re.findall(r"\w+", text.lower())) for pair in zip(*pairs, strict=True) for text in pair]
    documents = Counter(word for text in texts for word in text)
    counts = torch.tensor([[text[word] for word in documents] for text in texts], dtype=torch.float32)
    rarity = torch.log(len(texts) / torch.tensor(list(documents.values())))
    vectors = F.normalize(counts * rarity, dim=-1)  # (num_queries + num_titles, num_words)
    return vectors[: len(pairs)] @ vectors[len(pairs) :].T


def static(minilm: MiniLM, pairs: Sequence[Pair]) -> Tensor:
    """Compute a similarity without attention: the cosine of the mean vectors in the table of tokens.

    >>> from polyhead.pretrained import load_minilm
    >>> static(load_minilm(), query_title_pairs()[:3]).shape
    torch.Size([3, 3])
    """
    table, sums = minilm.model.embedding.tokens.weight.detach(), []
    for texts in zip(*pairs, strict=True):
        ids, mask = minilm.tokenize(texts)
        sums.append(F.normalize((table[ids] * mask[..., None]).sum(dim=1), dim=-1))
    return sums[0] @ sums[1].T


def untrained_minilm(seed: int) -> MiniLM:
    """Return MiniLM with random weights, as BERT's are before training."""
    torch.manual_seed(seed)
    model = load_minilm()
    for name, parameter in model.named_parameters():
        if parameter.ndim > 1:
            torch.nn.init.normal_(parameter, std=0.02)
        else:
            torch.nn.init.constant_(parameter, 1.0 if name.endswith("norm.weight") else 0.0)
    return model


def translator() -> list[Trial]:
    """Measure the date translator: the exact match on every eleventh held-out day."""
    model = load_translator()
    pairs = {to: held_out_pairs(to)[::11] for to in TARGETS}
    examples = [pair for each in pairs.values() for pair in each[::7]]
    translation_loss = model.loss(examples)

    def measures() -> dict[str, float]:
        exact: dict[str, float] = {to: exact_match(model, each) for to, each in pairs.items()}
        return {"exact_match": sum(exact.values()) / len(exact), **exact}

    rows = [torch.tensor([row]) for row in range(len(examples))]
    scores = importance(model.model, lambda row: translation_loss(model.model, row)[0], rows)
    return measure_removals(model.model, scores, measures)


def dropout() -> list[Trial]:
    """Measure translators trained without dropout and with it: the exact match with 5 or 12 heads off."""
    pairs, trials = [pair for to in TARGETS for pair in held_out_pairs(to)[::35]], []
    for probability in (0.0, 0.1):
        for seed in range(3):
            model = train_with_dropout(probability, seed)
            heads = all_heads(model.model)
            random_choices = [
                random_heads(heads, number, draw) for number in (5, 12) for draw in range(DRAWS)
            ]
            for off in [[], *random_choices]:
                with ablate(model.model, off):
                    exact = exact_match(model, pairs)
                measures = {"dropout": probability, "seed": seed, "exact_match": exact}
                trials.append(Trial("random" if off else "none", off, measures))
                report(trials)
    return trials


def train_with_dropout(probability: float, seed: int) -> Translator:
    """Train a translator that differs from the committed one in its dropout, seed and steps."""
    pairs = training_pairs(NUM_PAIRS, seed)
    torch.manual_seed(seed)
    translator = Translator.of(pairs)
    for module in translator.model.modules():
        if isinstance(module, nn.Dropout):
            module.p = probability
        if isinstance(module, MultiHeadAttention):
            module.dropout = probability
    train(translator.model, translator.loss(pairs), len(pairs), recipe(600, seed))
    return translator


def halves() -> list[Trial]:
    """Choose 22 heads by gradient on half of the queries, and measure on both halves what MiniLM loses.

    Neighbours have similar topics, so that blocks of ten stay together. The changes of the reciprocal rank:
    of the half that chose, of the others, and of the others with 22 random heads off; with standard errors.
    """
    model, pairs, trials = load_minilm(), query_title_pairs(), []

    def reciprocal_ranks(off: Collection[Head]) -> Tensor:
        with ablate(model, off):
            return 1 / ranks(search(model, pairs)).double()

    whole = reciprocal_ranks([])
    for draw in (*range(DRAWS), *range(100, 100 + DRAWS)):
        blocks = [list(range(start, start + 10)) for start in range(0, len(pairs), 10)]
        order = random.Random(draw).sample(blocks, len(blocks))
        half, others = ([i for block in side for i in block] for side in (order[::2], order[1::2]))
        batches = [[pairs[i] for i in block] for block in order[::2]]
        scores = by_layer(importance(model, lambda batch: loss(model, batch), batches))
        least = sorted(scores, key=scores.__getitem__)[:22]
        chosen = reciprocal_ranks(least) - whole
        control = reciprocal_ranks(random_heads(list(scores), 22, draw)) - whole
        measures: dict[str, float] = {"draw": draw}
        changes = {"half": chosen[half], "others": chosen[others], "random": control[others]}
        for name, change in changes.items():
            measures[name] = change.mean().item()
            measures[f"{name}_error"] = change.std().item() / len(change) ** 0.5
        trials.append(Trial("halves", least, measures))
        report(trials)
    return trials


def format_heads(heads: Iterable[Head]) -> str:
    """Write heads into a cell of a table, from which `head_experiments.parse_heads` reads them.

    >>> format_heads([Head("encoder", 0, 3), Head("cross", 1, 2)])
    'e0.3 c1.2'
    """
    return " ".join(f"{head.kind[0]}{head.layer}.{head.head}" for head in heads)


TABLES = {"minilm": minilm, "translator": translator, "dropout": dropout, "halves": halves}


def write_trials(path: Path, trials: Sequence[Trial]) -> None:
    """Write a table, which `head_experiments.read_trials` reads."""
    measures = dict.fromkeys(measure for trial in trials for measure in trial.measures)
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, ["experiment", "off", *measures], lineterminator="\n")
        table.writeheader()
        for trial in trials:
            values = {measure: f"{value:.6g}" for measure, value in trial.measures.items()}
            table.writerow({"experiment": trial.experiment, "off": format_heads(trial.off), **values})


def measure(options: argparse.Namespace) -> None:
    """Write the tables."""
    for name in options.tables:
        write_trials(options.folder / f"heads_{name}.csv", TABLES[name]())


def main(arguments: list[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser("python -m experiments.heads", description=__doc__)
    parser.add_argument("tables", nargs="+", choices=TABLES)
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where to write them")
    parser.set_defaults(run=measure)
    run_command(parser, arguments)


if __name__ == "__main__":
    main()
