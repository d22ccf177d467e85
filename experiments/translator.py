"""Train the date translator, evaluate it, translate with it; or train sixty small ones for chapter 10."""

from __future__ import annotations

import argparse
import datetime
import functools
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import babel
import torch
from babel.dates import format_date

from experiments.command import SEEDS, output_file, provenance, run_command
from experiments.heads import FOLDER, write_trials
from polyhead.training import device, is_first_process
from polyhead.training import train as run_training
from polyhead_course.models.head_experiments import Trial
from polyhead_course.models.translation import (
    TARGETS,
    Pair,
    Translator,
    alignment,
    exact_match,
    held_out_pairs,
    is_held_out,
    recipe,
    right_sources,
    source_tokens,
    training_pairs,
    translate,
)
from polyhead_course.models.translation.dates import FORMS, GB_MONTHS, MONTHS, US_MONTHS, WEEKDAYS, YEARS
from polyhead_course.models.translation.evaluation import KINDS
from polyhead_course.models.translation.translator import CHECKPOINT, END, NUM_PAIRS, START, STEPS
from polyhead_course.words.language import set_language

# Where the parts of "Friday, November 20, 2026" are among the source's tokens.
PLACES = {"weekday": 1, "month": 3, "day 1": 4, "day 2": 5} | {
    f"digit {each}": 6 + each for each in range(1, 5)
}


def train_translator(
    steps: int = STEPS,
    seed: int = 0,
    *,
    folder: Path | None = None,
    report: Callable[[int, float], None] | None = None,
) -> Translator:
    """Train a new translator; `folder` and `report` are those of `polyhead.training.train`.

    Its `facts` have its provenance, and the loss of each step.
    """
    plan, pairs = recipe(steps, seed), training_pairs(NUM_PAIRS, seed)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        translator = Translator.of(pairs)
    translator.model.to(device())
    data = {"babel": babel.__version__, "num_pairs": NUM_PAIRS}
    losses = run_training(
        translator.model, translator.loss(pairs), len(pairs), plan, folder=folder, data=data, report=report
    )
    command = f"python -m experiments.translator train --steps {steps} --seed {seed}"
    translator.facts = {**provenance(command, plan), **data, "losses": [round(loss, 5) for loss in losses]}
    return translator


def korean(day: datetime.date, form: int, target: str) -> Pair:
    """Make a pair of a day: English in one of the `FORMS`, Korean in a form of Babel's."""
    words = {
        "weekday": WEEKDAYS[day.weekday()], "month": MONTHS[day.month - 1], "day": day.day, "year": day.year,
        "us": US_MONTHS[day.month - 1], "gb": GB_MONTHS[day.month - 1],
    }  # fmt: skip
    return Pair(day, FORMS[form].format(**words), "ko", format_date(day, target, locale="ko_KR"))


def fit(pairs: Sequence[Pair], everything: Sequence[Pair], steps: int, seed: int) -> Translator:
    """Train a translator with the vocabularies of all pairs on some of them."""
    torch.manual_seed(seed)
    translator = Translator.of(everything)
    loss = translator.loss(pairs)
    run_training(translator.model, loss, len(pairs), recipe(steps, seed), report=lambda *_: None)
    translator.model.eval()
    return translator


def parts(source: Sequence[str], text: str) -> dict[int, str]:
    """Map the place of a source token to the characters that it decides; none if the text is no date."""
    found: dict[int, str] = {}
    try:
        for _, row, column in right_sources(source, text):
            found[column] = found.get(column, "") + text[row]
    except ValueError:
        return {}
    return found


@torch.no_grad()
def patched(
    translator: Translator, pairs: Sequence[Pair], others: Sequence[Pair]
) -> dict[tuple[int, int], float]:
    """Put the memory of one token of another date into that of a date, for each token.

    Returns, by the token's place and the place of a part, how often the part becomes that of the other date.
    """
    sources = [source_tokens(pair.source, pair.to) for pair in pairs]
    before, after = (
        [parts(source, pair.target) for source, pair in zip(sources, each, strict=True)]
        for each in (pairs, others)
    )
    memory, other = (translator.model.encode(translator.ids(each)[0]) for each in (pairs, others))
    shares = {}
    for place in range(memory.shape[1]):
        mixed = memory.clone()
        mixed[:, place] = other[:, place]
        ids = torch.full((len(pairs), 1), START)
        while ids.shape[1] < 20 and not (ids == END).any(dim=1).all():
            ids = torch.cat((ids, translator.model.decode(ids, mixed)[:, -1:].argmax(dim=-1)), dim=1)
        texts = ["".join(translator.target.words(row[1:])) for row in ids]
        written = [parts(source, text) for source, text in zip(sources, texts, strict=True)]
        for part in before[0]:
            differ = [number for number, each in enumerate(before) if each[part] != after[number][part]]
            hits = sum(written[number].get(part) == after[number][part] for number in differ)
            shares[place, part] = hits / len(differ)
    return shares


@functools.cache
def full_and_long() -> list[Pair]:
    """Make the full and the long date of each day."""
    return [korean(day, form, ("full", "long")[form]) for day in all_days() for form in (0, 1)]


def two_centuries(number: int) -> tuple[list[Pair], list[Pair]]:
    """Give held-out days of the last century and of this one, whose sources have the same kinds of tokens."""
    chance, days = random.Random(0), [day for day in all_days() if is_held_out(day) and day.day > 9]
    early = chance.sample([day for day in days if day.year < 2000], number)
    late = chance.sample([day for day in days if day.year >= 2000], number)
    return [korean(day, 0, "full") for day in early], [korean(day, 0, "full") for day in late]


def all_days(first: int = YEARS[0], last: int = YEARS[-1]) -> list[datetime.date]:
    """List the days of these years."""
    ends = datetime.date(first, 1, 1).toordinal(), datetime.date(last, 12, 31).toordinal()
    return [datetime.date.fromordinal(number) for number in range(ends[0], ends[1] + 1)]


def split(
    pairs: Sequence[Pair], seed: int, shares: tuple[float, float]
) -> tuple[list[Pair], list[Pair], list[Pair]]:
    """Hold out a share of the days with all their pairs, then a share of the other pairs."""
    chance = random.Random(seed)
    days = sorted({pair.date for pair in pairs})
    out = set(chance.sample(days, round(shares[0] * len(days))))
    rest = [pair for pair in pairs if pair.date not in out]
    chance.shuffle(rest)
    number = round(shares[1] * len(rest))
    return rest[number:], rest[:number], [pair for pair in pairs if pair.date in out]


def scores(model: Translator, chance: random.Random, **tests: Sequence[Pair]) -> dict[str, float]:
    """Measure exact match on 500 pairs of each kind at most."""
    return {
        name: exact_match(model, chance.sample(list(pairs), min(500, len(pairs))))
        for name, pairs in tests.items()
    }


def translation(seed: int) -> dict[str, float]:
    """Train on full and long dates; measure a random split, a split by day, and what patches change."""
    known, others, days = split(full_and_long(), seed, (0.05, 0.05))
    known = known[:NUM_PAIRS]
    seen = {pair.date for pair in known}
    model = fit(known, known, 300, seed)
    early, late = two_centuries(100)
    shares = patched(model, early, late)
    weights = model.cross_attention(*model.ids(early))[-1].mean(dim=1)  # (100, target_length - 1, 11)
    looks = weights[:, 1].argmax(dim=-1) == PLACES["digit 2"]
    return {
        **scores(
            model, random.Random(seed), random=[pair for pair in others if pair.date in seen], days=days
        ),
        **{name: shares[place, place] for name, place in PLACES.items()},
        "digit 2 by digit 1": shares[7, 8],
        "digit 1 by digit 2": shares[8, 7],
        "digit 2 looks at digit 2": looks.double().mean().item(),
        "others": max(each for (place, part), each in shares.items() if place not in (part, 7, 8)),
    }


def combination(seed: int) -> dict[str, float]:
    """Train as `translation` does, with no weekday on the dates of the 2040s; measure these with weekday.

    Also measured: new days of other years with weekday, and new days of the 2040s without.
    """
    known, _, days = split(full_and_long(), seed, (0.05, 0))
    lacking = {pair: None for pair in full_and_long() if is_full(pair) and is_2040s(pair)}
    model = fit([pair for pair in known if pair not in lacking][:NUM_PAIRS], known, 300, seed)
    late = [pair for pair in days if is_2040s(pair) and not is_full(pair)]
    others = [pair for pair in days if is_full(pair) and not is_2040s(pair)]
    return scores(model, random.Random(seed), days=others, long=late, **{"2040s": [*lacking]})


def is_2040s(pair: Pair) -> bool:
    """Tell whether a date is of the years 2040 to 2049."""
    return pair.date.year // 10 == 204


def is_full(pair: Pair) -> bool:
    """Tell whether a date has its weekday."""
    return pair.source.startswith(WEEKDAYS)


def calendar(seed: int) -> dict[str, float]:
    """Train on dates of 2026 without weekday to name it; measure a random split and a split by day."""
    pairs = [korean(day, form, "EEEEE") for day in all_days(2026, 2026) for form in (1, 2, 4, 5)]
    known, others, days = split(list(dict.fromkeys(pairs)), seed, (0.5, 0.2))
    model = fit(known, pairs, 600, seed)
    return scores(model, random.Random(seed), training=known, random=others, days=days)


def measure(_: argparse.Namespace) -> None:
    """Train the small models and write their table."""
    trials = []
    for form, run in (("translation", translation), ("combination", combination), ("calendar", calendar)):
        for seed in SEEDS:
            trials.append(Trial(form, [], {"seed": seed, **run(seed)}))
            print(form, *(f"{name} {value:.2f}" for name, value in trials[-1].measures.items()), flush=True)
    write_trials(FOLDER / "heads_dates.csv", trials)


def train(options: argparse.Namespace) -> None:
    """Train a translator and write its checkpoint."""
    translator = train_translator(options.steps, options.seed, folder=options.folder)
    if is_first_process():
        translator.save(options.out)
        loss, size = translator.facts["losses"][-1], options.out.stat().st_size
        print(f"{options.out}: loss {loss}, {size // 1000} kB")


def evaluate(options: argparse.Namespace) -> None:
    """Print, for each language, exact match and alignment on all held-out days."""
    translator = Translator.load(options.checkpoint)
    print("held-out days, exact match, then cross-attention at the right word (the diagonal's share)")
    for to in TARGETS:
        pairs = held_out_pairs(to)
        shares = alignment(translator, pairs)
        columns = (f"{kind} {shares[kind][0]:.3f} ({shares[kind][1]:.3f})" for kind in KINDS)
        print(f"{to:5}  {len(pairs)}  {exact_match(translator, pairs):.4f}  {'  '.join(columns)}", flush=True)


def translate_date(options: argparse.Namespace) -> None:
    """Print the translation, and draw its cross-attention if `options.weights` names a file."""
    translation = translate(options.text, options.to)
    if options.weights is not None:
        from polyhead_course.figures import plots  # matplotlib takes a second to load

        set_language(options.to)
        drawing = plots.translation_weights(
            translation.weights, translation.source_tokens, translation.target_tokens
        )
        drawing.save(options.weights)
    print(translation.text)


def main(arguments: list[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser("python -m experiments.translator", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)

    command = commands.add_parser("train", help="train a translator; also under torchrun")
    command.add_argument(
        "--out", type=output_file, default="translator.safetensors", help="the file to write"
    )
    command.add_argument("--steps", type=int, default=STEPS)
    command.add_argument("--seed", type=int, default=0)
    command.add_argument("--folder", type=Path, help="where the state of a run is stored, to continue it")
    command.set_defaults(run=train)

    command = commands.add_parser("evaluate", help="translate all days that were held out")
    command.add_argument("--checkpoint", type=Path, default=CHECKPOINT)
    command.set_defaults(run=evaluate)

    command = commands.add_parser("seeds", help="train sixty small models: the table of chapter 10")
    command.set_defaults(run=measure)

    command = commands.add_parser("translate", help='translate a date, such as "Friday, November 20, 2026"')
    command.add_argument("text")
    command.add_argument("--to", choices=TARGETS, required=True)
    command.add_argument("--weights", type=Path, metavar="FILE", help="draw the cross-attention as SVG")
    command.set_defaults(run=translate_date)

    run_command(parser, arguments)


if __name__ == "__main__":
    main()
