"""How the names' checkpoint is made, and what it is worth on names that it has never seen."""

from __future__ import annotations

import importlib.metadata
import math
from pathlib import Path
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from polyhead.training import Loss, Recipe, device, make_checkpoint
from polyhead_course.models.names.counting import NGram
from polyhead_course.models.names.data import LOCALES, Names, read_names
from polyhead_course.models.names.model import END, PAD, NameWriter, Vocabulary, make_model

RECIPE = Recipe(steps=2000, batch_size=64, learning_rate=0.01, warmup=200)
DROPOUT, TEACHER_ORDER, TAUGHT, NOISE = 0.05, 5, 0.97, 0.08


def counted(vocabulary: Vocabulary, names: dict[str, list[str]], order: int) -> NGram:
    """An n-gram that has counted these names, the language before each."""
    sequences = [vocabulary.tokens_of(tag, name) for tag, each in names.items() for name in each]
    possible = [END, *range(len(vocabulary) - len(vocabulary.characters), len(vocabulary))]
    return NGram(sequences, possible, len(vocabulary), order)


def training_run(names: Names, recipe: Recipe = RECIPE) -> tuple[Vocabulary, nn.Module, Loss, int]:
    """The vocabulary, the model before training, the loss, and how many names there are.

    The vocabulary has the characters of the held-out names, too, so that it can be asked about each of them.
    """
    characters = sorted({c for side in names for each in side.values() for name in each for c in name})
    vocabulary = Vocabulary(LOCALES, characters)
    rows = [row for tag in LOCALES for row in vocabulary.encode(tag, names.training[tag])]
    ids = nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=PAD)
    torch.manual_seed(recipe.seed)
    model = make_model(len(vocabulary), DROPOUT).to(device())
    teachers = {
        vocabulary.tag(tag): counted(vocabulary, {tag: each}, TEACHER_ORDER)
        for tag, each in names.training.items()
    }
    return vocabulary, model, _lessons(ids, teachers), len(ids)


def _lessons(ids: Tensor, teachers: dict[int, NGram]) -> Loss:
    """The loss of names, (num_names, length), of which a model would soon know each by heart.

    So the goal is for the most part what an n-gram of the language expects, whose counts are smoothed. Some
    characters that the model reads are wrong; with these before it the goal is nothing else: what to expect
    where nothing was counted.

    Source: Hinton et al. 2015, of a teacher's probabilities; Xie et al. 2017, of wrong characters.
    """
    letters = {tag: torch.unique(ids[ids[:, 0] == tag, 1:]) for tag in teachers}
    letters = {tag: each[each > END] for tag, each in letters.items()}

    def loss(model: nn.Module, rows: Tensor) -> tuple[Tensor, int]:
        names = [ids[row][ids[row] != PAD] for row in rows.tolist()]
        read = [_with_noise(name, letters[int(name[0])]) for name in names]
        pairs = zip(names, read, strict=True)
        goals = torch.cat([_goals(teachers[int(name[0])], name.tolist(), r.tolist()) for name, r in pairs])
        given = nn.utils.rnn.pad_sequence([r[:-1] for r in read], batch_first=True, padding_value=PAD)
        real = (given != PAD).to(device())
        logits = model(given.to(device()))[real]  # (num_real, vocab_size)
        return F.cross_entropy(logits, goals.to(device()), reduction="sum"), len(goals)

    return loss


def _with_noise(name: Tensor, letters: Tensor) -> Tensor:
    """Another letter here and there, neither for the language nor for the end."""
    wrong = torch.rand(name.shape) < NOISE
    wrong[0] = wrong[-1] = False
    return torch.where(wrong, letters[torch.randint(len(letters), name.shape)], name)


def _goals(teacher: NGram, name: list[int], read: list[int]) -> Tensor:
    """What is to be expected after each token read: (length - 1, vocab_size)."""
    goals = []
    for context, right, token in zip(teacher.contexts(read), teacher.contexts(name), name[1:], strict=True):
        goal = teacher.distribution(context)
        if context == right:
            goal = TAUGHT * goal
            goal[token] += 1 - TAUGHT
        goals.append(goal)
    return torch.stack(goals)


def train_names(path: Path, command: str, recipe: Recipe = RECIPE) -> None:
    """Train and write the checkpoint; a run that was killed goes on."""
    vocabulary, model, loss, num_names = training_run(read_names(), recipe)
    facts = {
        "languages": vocabulary.languages,
        "characters": "".join(vocabulary.characters),
        "babel": importlib.metadata.version("babel"),
    }
    make_checkpoint(path, model, loss, num_names, recipe, facts, command)


class Evaluation(NamedTuple):
    """Of one language, or of all together."""

    num_held_out: int  # names held out
    num_tokens: int  # their characters and ends
    perplexity: float  # of these
    own_trigram: float  # the same of a trigram that has counted the training names of the language,
    one_trigram: float  # and of one for all languages, which has counted what the model was trained on
    different: int  # of the names written: how many different ones,
    new: int  # how many of these are none of the training names,
    real: int  # and how many of the new ones are held-out names


def evaluate(writer: NameWriter, names: Names, count: int = 1000, seed: int = 0) -> dict[str, Evaluation]:
    """Ask about held-out names, and write `count` in each language: temperature 0.8, nucleus 0.9."""
    vocabulary = writer.vocabulary
    training, held_out = (
        {tag: [name for name in each if vocabulary.knows(name)] for tag, each in side.items()}
        for side in names
    )
    everything, found = counted(vocabulary, training, order=3), {}
    for tag in vocabulary.languages:
        sequences = [vocabulary.tokens_of(tag, name) for name in held_out[tag]]
        generator = torch.Generator().manual_seed(seed)
        written = set(writer.write(tag, count, temperature=0.8, top_p=0.9, generator=generator)) - {""}
        new = written - set(names.training[tag])
        found[tag] = Evaluation(
            len(sequences),
            sum(len(sequence) - 1 for sequence in sequences),
            writer.perplexity(tag, held_out[tag]),
            counted(vocabulary, {tag: training[tag]}, order=3).perplexity(sequences),
            everything.perplexity(sequences),
            len(written),
            len(new),
            len(new & set(held_out[tag])),
        )
    return {**found, "all": _together(list(found.values()))}


def _together(each: list[Evaluation]) -> Evaluation:
    """Perplexities are averaged as logarithms, by tokens; the rest is added."""
    columns = dict(zip(Evaluation._fields, zip(*each, strict=True), strict=True))
    sums = {name: sum(values) for name, values in columns.items()}
    for name in ("perplexity", "own_trigram", "one_trigram"):
        logs = (n * math.log(p) for n, p in zip(columns["num_tokens"], columns[name], strict=True))
        sums[name] = math.exp(sum(logs) / sums["num_tokens"])
    return Evaluation(**sums)
