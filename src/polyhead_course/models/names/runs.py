"""Training of the name model, and its evaluation on held-out names."""

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
DROPOUT, TEACHER_ORDER, TEACHER_SHARE, NOISE = 0.05, 5, 0.97, 0.08


def count_names(vocabulary: Vocabulary, names: dict[str, list[str]], order: int) -> NGram:
    """Make an n-gram model of names, each after its language.

    >>> bigram = count_names(Vocabulary(["en", "ko"], "ab"), {"en": ["ab", "aa", "b"]}, order=2)
    >>> int(bigram.distribution((2,)).argmax())  # 2 is English, 4 is a
    4
    """
    sequences = [vocabulary.tokens_of(tag, name) for tag, each in names.items() for name in each]
    possible = [END, *range(len(vocabulary) - len(vocabulary.characters), len(vocabulary))]
    return NGram(sequences, possible, len(vocabulary), order)


def training_run(names: Names, recipe: Recipe = RECIPE) -> tuple[Vocabulary, nn.Module, Loss, int]:
    """Return the vocabulary, the model before training, the loss, and the number of names.

    The vocabulary has the characters of the held-out names, too, so that each of them has a probability.

    >>> names = Names(*({tag: names for tag in LOCALES} for names in (["ab", "aa", "b"], ["ba"])))
    >>> vocabulary, model, loss, num_names = training_run(names)
    >>> len(vocabulary), num_names
    (8, 12)
    """
    characters = sorted({c for side in names for each in side.values() for name in each for c in name})
    vocabulary = Vocabulary(LOCALES, characters)
    rows = [row for tag in LOCALES for row in vocabulary.encode(tag, names.training[tag])]
    ids = nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=PAD)
    torch.manual_seed(recipe.seed)
    model = make_model(len(vocabulary), DROPOUT).to(device())
    teachers = {
        vocabulary.tag(tag): count_names(vocabulary, {tag: each}, TEACHER_ORDER)
        for tag, each in names.training.items()
    }
    return vocabulary, model, _distillation_loss(ids, teachers), len(ids)


def _distillation_loss(ids: Tensor, teachers: dict[int, NGram]) -> Loss:
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
        noisy = [_with_noise(name, letters[int(name[0])]) for name in names]
        pairs = zip(names, noisy, strict=True)
        targets = torch.cat(
            [_targets(teachers[int(name[0])], name.tolist(), n.tolist()) for name, n in pairs]
        )
        inputs = nn.utils.rnn.pad_sequence([n[:-1] for n in noisy], batch_first=True, padding_value=PAD)
        real = (inputs != PAD).to(device())
        logits = model(inputs.to(device()))[real]  # (num_real, vocab_size)
        return F.cross_entropy(logits, targets.to(device()), reduction="sum"), len(targets)

    return loss


def _with_noise(name: Tensor, letters: Tensor) -> Tensor:
    """Replace letters at random; the language and the end remain."""
    wrong = torch.rand(name.shape) < NOISE
    wrong[0] = wrong[-1] = False
    return torch.where(wrong, letters[torch.randint(len(letters), name.shape)], name)


def _targets(teacher: NGram, name: list[int], noisy: list[int]) -> Tensor:
    """The target probabilities after each token of the input: (length - 1, vocab_size)."""
    targets = []
    for context, right, token in zip(teacher.contexts(noisy), teacher.contexts(name), name[1:], strict=True):
        target = teacher.distribution(context)
        if context == right:
            target *= TEACHER_SHARE
            target[token] += 1 - TEACHER_SHARE
        targets.append(target)
    return torch.stack(targets)


def train_names(path: Path, command: str, recipe: Recipe = RECIPE) -> None:
    """Train and write the checkpoint; a run that was killed is continued.

    >>> train_names(Path("names.safetensors"), "python experiments/names.py train")  # doctest: +SKIP
    """
    vocabulary, model, loss, num_names = training_run(read_names(), recipe)
    facts = {
        "languages": vocabulary.languages,
        "characters": "".join(vocabulary.characters),
        "babel": importlib.metadata.version("babel"),
    }
    make_checkpoint(path, model, loss, num_names, recipe, facts, command)


class Evaluation(NamedTuple):
    """Results for one language, or for all together.

    >>> Evaluation(3, 21, 5.5, 6.5, 7.5, 10, 4, 1).perplexity
    5.5
    """

    num_held_out: int  # names held out
    num_tokens: int  # their characters and ends
    perplexity: float  # the model's on the held-out names
    own_trigram: float  # the perplexity of a trigram model of the language
    one_trigram: float  # the perplexity of one trigram model of all languages, trained on the same names
    different: int  # different names among the generated ones
    new: int  # those of the different ones that are no training names
    real: int  # those of the new ones that are held-out names


def evaluate(writer: NameWriter, names: Names, count: int = 1000, seed: int = 0) -> dict[str, Evaluation]:
    """Measure perplexities on held-out names, and sample `count` names of each language.

    The temperature is 0.8, and top_p 0.9.

    >>> results = evaluate(NameWriter(), read_names(), count=1)
    >>> results["en"].perplexity < results["en"].one_trigram
    True
    """
    vocabulary = writer.vocabulary
    training, held_out = (
        {tag: [name for name in each if vocabulary.knows(name)] for tag, each in side.items()}
        for side in names
    )
    all_languages, results = count_names(vocabulary, training, order=3), {}
    for tag in vocabulary.languages:
        sequences = [vocabulary.tokens_of(tag, name) for name in held_out[tag]]
        generator = torch.Generator().manual_seed(seed)
        written = set(writer.write(tag, count, temperature=0.8, top_p=0.9, generator=generator)) - {""}
        new = written - set(names.training[tag])
        results[tag] = Evaluation(
            len(sequences),
            sum(len(sequence) - 1 for sequence in sequences),
            writer.perplexity(tag, held_out[tag]),
            count_names(vocabulary, {tag: training[tag]}, order=3).perplexity(sequences),
            all_languages.perplexity(sequences),
            len(written),
            len(new),
            len(new & set(held_out[tag])),
        )
    return {**results, "all": _aggregate(list(results.values()))}


def _aggregate(each: list[Evaluation]) -> Evaluation:
    """Average the perplexities as logarithms, weighted by tokens; add the rest."""
    columns = dict(zip(Evaluation._fields, zip(*each, strict=True), strict=True))
    sums = {name: sum(values) for name, values in columns.items()}
    for name in ("perplexity", "own_trigram", "one_trigram"):
        logs = (n * math.log(p) for n, p in zip(columns["num_tokens"], columns[name], strict=True))
        sums[name] = math.exp(sum(logs) / sums["num_tokens"])
    return Evaluation(**sums)
