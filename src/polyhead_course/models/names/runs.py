"""Evaluation of the model of names, and of trigrams, on held-out names.

The model is trained by `experiments/names.py`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch

from polyhead_course.models.names.counting import NGram
from polyhead_course.models.names.data import Names
from polyhead_course.models.names.model import END, NameWriter, Vocabulary


def fit_ngram(vocabulary: Vocabulary, names: dict[str, list[str]], order: int) -> NGram:
    """Fit an n-gram model to names, each after its language.

    >>> bigram = fit_ngram(Vocabulary(["en", "ko"], "ab"), {"en": ["ab", "aa", "b"]}, order=2)
    >>> int(bigram.distribution((2,)).argmax())  # 2 is English, 4 is a
    4
    """
    sequences = [vocabulary.tokens_of(tag, name) for tag, each in names.items() for name in each]
    possible = [END, *range(len(vocabulary) - len(vocabulary.characters), len(vocabulary))]
    return NGram(sequences, possible, len(vocabulary), order)


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

    >>> from polyhead_course.models.names import read_names
    >>> results = evaluate(NameWriter(), read_names(), count=1)
    >>> results["en"].perplexity < results["en"].one_trigram
    True
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
            len(samples),
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
