"""Train the model of names, measure it on held-out names, or write names with it."""

from __future__ import annotations

import argparse
import importlib.metadata
import math
from pathlib import Path
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from experiments.command import make_checkpoint, output_file, run_command
from polyhead.training import Loss, Recipe, device
from polyhead_course.models.names import Names, NameWriter, NGram, Vocabulary, make_model, read_names
from polyhead_course.models.names.model import CHECKPOINT, END, PAD
from polyhead_course.models.names.runs import LOCALES, fit_ngram

RECIPE = Recipe(steps=2000, batch_size=64, learning_rate=0.01, warmup=200)
DROPOUT, TEACHER_ORDER, TEACHER_SHARE, NOISE = 0.05, 5, 0.97, 0.08


def training_run(names: Names, recipe: Recipe = RECIPE) -> tuple[Vocabulary, nn.Module, Loss, int]:
    """Return the vocabulary, the model before training, the loss, and the number of names.

    The vocabulary has the characters of the held-out names, too, so that each of them has a probability.
    """
    characters = sorted({c for side in names for each in side.values() for name in each for c in name})
    vocabulary = Vocabulary(LOCALES, characters)
    rows = [row for tag in LOCALES for row in vocabulary.encode(tag, names.training[tag])]
    ids = nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=PAD)
    torch.manual_seed(recipe.seed)
    model = make_model(len(vocabulary), DROPOUT).to(device())
    teachers = {
        vocabulary.tag(tag): fit_ngram(vocabulary, {tag: each}, TEACHER_ORDER)
        for tag, each in names.training.items()
    }
    return vocabulary, model, distillation_loss(ids, teachers), len(ids)


def distillation_loss(ids: Tensor, teachers: dict[int, NGram]) -> Loss:
    """Return the loss on the names `ids`, (num_names, length), with measures against memorisation.

    The targets are mostly the probabilities of an n-gram model of the language, whose counts are smoothed.
    Some characters of the input are wrong; after them the targets are the n-gram's probabilities alone, which
    teach what to predict in contexts that never occur.

    Source: Hinton et al. 2015, for a teacher's probabilities; Xie et al. 2017, for wrong characters.
    """
    letters = {tag: torch.unique(ids[ids[:, 0] == tag, 1:]) for tag in teachers}
    letters = {tag: each[each > END] for tag, each in letters.items()}

    def loss(model: nn.Module, rows: Tensor) -> tuple[Tensor, int]:
        names = [ids[row][ids[row] != PAD] for row in rows.tolist()]
        inputs = [add_noise(name, letters[int(name[0])]) for name in names]
        targets = torch.cat(
            [
                soft_targets(teachers[int(name[0])], name.tolist(), noisy.tolist())
                for name, noisy in zip(names, inputs, strict=True)
            ]
        )
        batch = nn.utils.rnn.pad_sequence(
            [noisy[:-1] for noisy in inputs], batch_first=True, padding_value=PAD
        ).to(device())
        logits = model(batch)[batch != PAD]  # (num_tokens, vocab_size)
        return F.cross_entropy(logits, targets.to(device()), reduction="sum"), len(targets)

    return loss


def add_noise(name: Tensor, letters: Tensor) -> Tensor:
    """Replace letters at random; the language and the end remain."""
    wrong = torch.rand(name.shape) < NOISE
    wrong[0] = wrong[-1] = False
    return torch.where(wrong, letters[torch.randint(len(letters), name.shape)], name)


def soft_targets(teacher: NGram, name: list[int], noisy: list[int]) -> Tensor:
    """Return the target probabilities after each token of the noisy input: (length - 1, vocab_size)."""
    targets = []
    for context, right, token in zip(teacher.contexts(noisy), teacher.contexts(name), name[1:], strict=True):
        target = teacher.distribution(context)
        if context == right:
            target *= TEACHER_SHARE
            target[token] += 1 - TEACHER_SHARE
        targets.append(target)
    return torch.stack(targets)


def train(options: argparse.Namespace) -> None:
    """Train and write the checkpoint; a run that was killed is continued."""
    vocabulary, model, loss, num_names = training_run(read_names())
    facts = {
        "languages": vocabulary.languages,
        "characters": "".join(vocabulary.characters),
        "babel": importlib.metadata.version("babel"),
    }
    make_checkpoint(options.out, model, loss, num_names, RECIPE, facts, options.invocation)


class Evaluation(NamedTuple):
    """Results for one language, or for all together."""

    num_held_out: int  # names held out
    num_tokens: int  # their characters and ends
    perplexity: float  # the model's on the held-out names
    own_trigram: float  # the perplexity of a trigram model of the language
    one_trigram: float  # the perplexity of one trigram model of all languages, trained on the same names
    teacher: float  # that of the smoothed 5-gram model of the language, from which the model learned
    different: int  # different names among the generated ones
    new: int  # those of the different ones that are no training names
    real: int  # those of the new ones that are held-out names


def evaluate(writer: NameWriter, names: Names, count: int = 1000, seed: int = 0) -> dict[str, Evaluation]:
    """Measure perplexities on held-out names, and sample `count` names of each language.

    The temperature is 0.8, and top_p 0.9.
    """
    vocabulary = writer.vocabulary
    training, held_out = (
        {tag: [name for name in each if vocabulary.knows(name)] for tag, each in side.items()}
        for side in names
    )
    all_languages, results = fit_ngram(vocabulary, training, order=3), {}
    for tag in vocabulary.languages:
        sequences = [vocabulary.tokens_of(tag, name) for name in held_out[tag]]
        generator = torch.Generator().manual_seed(seed)
        samples = set(writer.write(tag, count, temperature=0.8, top_p=0.9, generator=generator)) - {""}
        new = samples - set(names.training[tag])
        results[tag] = Evaluation(
            len(sequences),
            sum(len(sequence) - 1 for sequence in sequences),
            writer.perplexity(tag, held_out[tag]),
            fit_ngram(vocabulary, {tag: training[tag]}, order=3).perplexity(sequences),
            all_languages.perplexity(sequences),
            fit_ngram(vocabulary, {tag: training[tag]}, order=5).perplexity(sequences),
            len(samples),
            len(new),
            len(new & set(held_out[tag])),
        )
    return {**results, "all": aggregate(list(results.values()))}


def aggregate(each: list[Evaluation]) -> Evaluation:
    """Average the perplexities as logarithms, weighted by tokens; add the rest."""
    columns = dict(zip(Evaluation._fields, zip(*each, strict=True), strict=True))
    sums = {name: sum(values) for name, values in columns.items()}
    for name in ("perplexity", "own_trigram", "one_trigram", "teacher"):
        logs = (n * math.log(p) for n, p in zip(columns["num_tokens"], columns[name], strict=True))
        sums[name] = math.exp(sum(logs) / sums["num_tokens"])
    return Evaluation(**sums)


def write(options: argparse.Namespace) -> None:
    """Print names, one a line."""
    generator = torch.Generator()
    _ = generator.seed() if options.seed is None else generator.manual_seed(options.seed)
    sampling = {name: getattr(options, name) for name in ("temperature", "top_k", "top_p")}
    writer = NameWriter(options.checkpoint)
    print(*writer.write(options.language, options.count, generator=generator, **sampling), sep="\n")


def seed(text: str) -> int:
    """Convert an argument to a number that torch takes as a seed."""
    if not -(2**63) <= int(text) < 2**64:
        raise argparse.ArgumentTypeError(f"must be from -2**63 to 2**64 - 1, got {text}")
    return int(text)


def measure(options: argparse.Namespace) -> None:
    """Print a row of measurements for each language, and one for all together."""
    writer = NameWriter(options.checkpoint)
    print("language  held out  perplexity  own trigram  one trigram  teacher  different   new  real")
    for language, got in evaluate(writer, read_names(), options.count).items():
        print(
            f"{language:8}  {got.num_held_out:8}  {got.perplexity:10.2f}  {got.own_trigram:11.2f}"
            f"  {got.one_trigram:11.2f}  {got.teacher:7.2f}  {got.different:9}  {got.new:4}  {got.real:4}"
        )


def main(arguments: list[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser("python -m experiments.names", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)

    command = commands.add_parser("train", help="train the model; a run that was killed is continued")
    command.add_argument("--out", type=output_file, default="names.safetensors", help="the file to write")
    command.set_defaults(run=train)

    command = commands.add_parser("write", help="write names, one a line")
    command.add_argument("--language", required=True, help=", ".join(LOCALES))
    command.add_argument("--count", type=int, default=10)
    command.add_argument("--temperature", type=float, default=1.0)
    command.add_argument("--top-k", type=int)
    command.add_argument("--top-p", type=float)
    command.add_argument("--seed", type=seed, help="the same names each time")
    command.add_argument("--checkpoint", type=Path, default=CHECKPOINT)
    command.set_defaults(run=write)

    command = commands.add_parser("evaluate", help="perplexity on held-out names, and how many are new")
    command.add_argument("--count", type=int, default=1000, help="names to write in each language")
    command.add_argument("--checkpoint", type=Path, default=CHECKPOINT)
    command.set_defaults(run=measure)

    run_command(parser, arguments)


if __name__ == "__main__":
    main()
