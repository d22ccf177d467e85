"""The names, and n-gram models of them: the baseline of their model, and its teacher.

The names of places and languages come from CLDR, Unicode's Common Locale Data Repository, in the package
Babel, which only training and evaluation need: a `NameWriter` has its characters from the checkpoint. The
model is trained and evaluated by `experiments/names.py`.
"""

import functools
import hashlib
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from polyhead.generation import accept_drafts
from polyhead_course.models.names.model import END, MAX_LENGTH, NameWriter, Vocabulary

LOCALES = {"en": "en", "zh-TW": "zh_Hant_TW", "zh-CN": "zh_Hans_CN", "ko": "ko"}  # ours: CLDR's
ONE_IN = 10  # the share of names held out is 1 / ONE_IN
# CLDR's codes for what is neither a place nor a language.
NOT_NAMES = {"ZZ", "XA", "XB", "und", "mul", "mis", "zxx"}
Gram = tuple[int, ...]


class Names(NamedTuple):
    """The names of each language, sorted and without duplicates.

    >>> Names({"en": ["Kenya"]}, {"en": ["Bolivia"]}).held_out["en"]
    ['Bolivia']
    """

    training: dict[str, list[str]]
    held_out: dict[str, list[str]]


def read_names() -> Names:
    """Read the names of territories, languages and cities of time zones in each language.

    A thing is held out in all languages or in none, together with all that begins alike in English: Bulgaria
    and Bulgarian, Mexico and Mexico City. A held-out name that something else has, too, as in some languages
    an island and its sea, is left out.

    >>> "Korean" in read_names().training["en"]
    True
    """
    english = dict(_codes_and_names("en"))
    training, held_out = {}, {}
    for language in LOCALES:
        sides: tuple[set[str], set[str]] = set(), set()
        for code, name in _codes_and_names(language):
            sides[is_held_out(english.get(code, code))].add(name)
        training[language], held_out[language] = sorted(sides[0]), sorted(sides[1] - sides[0])
    return Names(training, held_out)


def is_held_out(english: str) -> bool:
    """Tell by the first four letters of its English name whether something is held out of training.

    >>> is_held_out("Bolivia"), is_held_out("Kenya")
    (True, False)
    """
    return int(hashlib.sha256(english[:4].lower().encode()).hexdigest(), 16) % ONE_IN == 0


def _codes_and_names(language: str) -> Iterator[tuple[str, str]]:
    """Yield codes and names, such as `language/ko` and `Korean`."""
    try:
        from babel import Locale
    except ImportError as error:
        raise ImportError("the names need the package babel: pip install babel") from error
    locale = Locale.parse(LOCALES[language])
    # The English locale names only cities whose names differ from the zones'.
    zones = map(str, Locale.parse("ko").time_zones if language == "en" else ())
    cities = {zone: zone.rpartition("/")[2].replace("_", " ") for zone in zones}
    cities |= {zone: names["city"] for zone, names in locale.time_zones.items() if "city" in names}
    kinds = {"territory": locale.territories, "language": locale.languages, "zone": cities}
    for kind, names in kinds.items():
        for code, name in sorted(names.items()):
            if code not in NOT_NAMES and not code.startswith("Etc/"):
                yield f"{kind}/{code}", name


class NGram:
    """An n-gram model with interpolated Kneser-Ney smoothing; below the unigrams all tokens are equal.

    P(c | h) = (max(n(h c) - D, 0) + D · N(h) · P(c | h without its first)) / n(h), with N(h) the number of
    different tokens seen after h. A shorter context is counted once for each different token before it. The
    discount of each order is D = n₁ / (n₁ + 2 n₂), with n₁ and n₂ the number of n-grams counted once and
    twice; without any that is counted once it is 0.

    Source: Kneser & Ney 1995; interpolated, Chen & Goodman 1999, section 3.

    >>> bigram = NGram([[0, 1, 1], [0, 1, 2]], possible=[1, 2], vocab_size=3, order=2)
    >>> bigram.distribution((0,))  # 1 follows 0 twice: D = 2 / (2 + 2), of which half goes to the unigrams
    tensor([0.0000, 0.9167, 0.0833])
    """

    def __init__(
        self, sequences: Sequence[Sequence[int]], possible: Sequence[int], vocab_size: int, order: int = 3
    ) -> None:
        """Count n-grams of up to `order` tokens; only the `possible` tokens of `vocab_size` can follow."""
        self.order = order
        self.uniform = torch.zeros(vocab_size)
        self.uniform[list(possible)] = 1 / len(possible)
        grams = Counter(gram for sequence in sequences for gram in self._grams(sequence))
        self._orders: list[dict[Gram, tuple[Tensor, Tensor, float]]] = []
        for _ in range(order):
            self._orders.append(_discounted(grams))
            grams = Counter(gram[1:] for gram in grams)
        self._orders.reverse()
        self._cached = functools.lru_cache(maxsize=8192)(self._interpolated)

    def distribution(self, context: Gram) -> Tensor:
        """Return the probabilities of the token after a context of order - 1 tokens: (vocab_size,)."""
        return self._cached(context).clone()

    def _interpolated(self, context: Gram) -> Tensor:
        probs = self.uniform
        for length, order in enumerate(self._orders):
            if (end := context[len(context) - length :]) in order:
                followers, shares, rest = order[end]
                probs = rest * probs
                probs[followers] += shares
        return probs

    def contexts(self, sequence: Sequence[int]) -> list[Gram]:
        """Return the order - 1 tokens before each token but the first, which is repeated before itself."""
        padded = [sequence[0]] * (self.order - 2) + list(sequence)
        return [tuple(padded[i : i + self.order - 1]) for i in range(len(sequence) - 1)]

    def _grams(self, sequence: Sequence[int]) -> list[Gram]:
        pairs = zip(self.contexts(sequence), sequence[1:], strict=True)
        return [(*context, token) for context, token in pairs]

    def perplexity(self, sequences: Sequence[Sequence[int]]) -> float:
        """Compute the exponential of the mean of -log P over all tokens but the first of each sequence."""
        grams = [gram for sequence in sequences for gram in self._grams(sequence)]
        if not grams:
            raise ValueError("sequences must have a token after the first, got none")
        probs = torch.stack([self._cached(gram[:-1])[gram[-1]] for gram in grams])
        return math.exp(-probs.double().log().mean())


def _discounted(grams: Counter[Gram]) -> dict[Gram, tuple[Tensor, Tensor, float]]:
    """For each context: the tokens that follow it, their discounted shares, and the share that is left."""
    once, twice = (sum(number == n for number in grams.values()) for n in (1, 2))
    discount = once / (once + 2 * twice) if once else 0.0
    after: dict[Gram, dict[int, int]] = defaultdict(dict)
    for gram, number in grams.items():
        after[gram[:-1]][gram[-1]] = number
    order = {}
    for context, counts in after.items():
        total, numbers = sum(counts.values()), torch.tensor(list(counts.values()))
        rest = discount * len(counts) / total
        order[context] = torch.tensor(list(counts)), (numbers - discount) / total, rest
    return order


def fit_ngram(vocabulary: Vocabulary, names: dict[str, list[str]], order: int) -> NGram:
    """Fit an n-gram model to names, each after its language.

    >>> bigram = fit_ngram(Vocabulary(["en", "ko"], "ab"), {"en": ["ab", "aa", "b"]}, order=2)
    >>> int(bigram.distribution((2,)).argmax())  # 2 is English, 4 is a
    4
    """
    sequences = [vocabulary.tokens_of(tag, name) for tag, each in names.items() for name in each]
    possible = [END, *range(len(vocabulary) - len(vocabulary.characters), len(vocabulary))]
    return NGram(sequences, possible, len(vocabulary), order)


@torch.no_grad()
def speculate(
    writer: NameWriter, drafter: NGram, language: str, num_drafts: int, generator: torch.Generator
) -> tuple[Tensor, int]:
    """Write a name of which an n-gram model drafts the characters; return them, and the model's calls.

    >>> writer = NameWriter()
    >>> drafter = fit_ngram(writer.vocabulary, {"en": ["Kenya", "Korea"]}, order=3)
    >>> name, calls = speculate(writer, drafter, "en", 4, torch.Generator().manual_seed(0))
    >>> len(name) <= 5 * calls
    True
    """
    ids, calls = torch.tensor([writer.vocabulary.tag(language)]), 0
    while ids[-1] != END and len(ids) <= MAX_LENGTH:
        draft, rows = ids.tolist(), []
        for _ in range(num_drafts):
            rows.append(drafter.distribution(drafter.contexts([*draft, END])[-1]))
            draft.append(int(torch.multinomial(rows[-1], 1, generator=generator)))
        new = torch.tensor(draft)
        probs = writer.model(new[None])[0, len(ids) - 1 :].softmax(dim=-1)
        kept = accept_drafts(probs, torch.stack(rows), new[len(ids) :], generator)
        ended = (kept == END).cumsum(dim=0) - (kept == END).long()
        ids, calls = torch.cat((ids, kept[ended == 0])), calls + 1
    return ids[1:], calls
