"""Evaluation of a translator: exact match, and the alignment of its cross-attention."""

import re
from collections.abc import Sequence

from polyhead.checked import checked
from polyhead_course.models.translation.dates import MONTH_NUMBERS, WEEKDAYS, Pair
from polyhead_course.models.translation.translator import Translator, source_tokens

_BATCH = 512
_TARGET = re.compile(
    r"(?P<year>\d{4})(?:年|년 |\. )(?P<months>\d{1,2})(?:月|월 |\. )(?P<day>\d{1,2})(?:日|일|\.)"
    r"(?: ?星期(?P<zh>[一二三四五六日])| (?P<ko>[월화수목금토일])요일)?"
)
KINDS = ("digits", "months", "weekdays")


@checked
def exact_match(translator: Translator, pairs: Sequence[Pair]) -> float:
    """Measure the share of pairs whose greedy translation is right to the last character.

    >>> from polyhead_course.models.translation import load_translator
    >>> exact_match(load_translator(), [Pair(None, "Nov 20, 2026", "ko", "2026. 11. 20.")])
    1.0
    """
    right = 0
    for batch in _batches(pairs):
        written = translator.write(translator.ids(batch)[0])[:, 1:]  # without the start
        texts = ("".join(translator.target.words(row)) for row in written)
        right += sum(text == pair.target for text, pair in zip(texts, batch, strict=True))
    return right / len(pairs)


@checked
def alignment(translator: Translator, pairs: Sequence[Pair]) -> dict[str, tuple[float, float]]:
    """Measure, for each of the `KINDS`, how often the source token with the largest weight is the right one.

    The weights are those of the last layer's cross-attention, averaged over heads. The second share of each
    kind is that of a diagonal from the first pair of tokens to the last one, as a baseline.

    >>> from polyhead_course.models.translation import load_translator
    >>> pair = Pair(None, "Nov 20, 2026", "ko", "2026. 11. 20.")
    >>> alignment(load_translator(), [pair])["months"]
    (1.0, 0.0)
    """
    hits_of: dict[str, list[tuple[bool, bool]]] = {kind: [] for kind in KINDS}
    for batch in _batches(pairs):
        largest = translator.cross_attention(*translator.ids(batch))[-1].mean(dim=1).argmax(dim=-1).tolist()
        for pair, columns in zip(batch, largest, strict=True):
            source = source_tokens(pair.source, pair.to)
            slope = (len(source) - 2) / (len(pair.target) - 1)  # without the language's tag
            for kind, row, right in right_sources(source, pair.target):
                hits_of[kind].append((columns[row] == right, 1 + round(row * slope) == right))
    return {kind: (_share(hits, 0), _share(hits, 1)) for kind, hits in hits_of.items() if hits}


def right_sources(source: Sequence[str], target: str) -> list[tuple[str, int, int]]:
    """List (kind, index of a target character, index of its source token) for all parts of a date.

    A digit of the year or day belongs to the same digit in the source, a digit of the month to the month's
    name, and the one character in which weekdays differ to the weekday's name.

    >>> right_sources(["<ko>", "Nov", "5", ",", "2", "0", "2", "6"], "2026. 11. 5.")[4:]
    [('months', 6, 1), ('months', 7, 1), ('digits', 10, 2)]
    """
    match = _TARGET.fullmatch(target)
    if match is None:
        raise ValueError(f"target must be a date in one of the translator's languages, got {target!r}")
    digits = [index for index, token in enumerate(source) if token.isdecimal()]
    names = {"months": MONTH_NUMBERS, "weekdays": WEEKDAYS}
    named = {kind: [index for index, token in enumerate(source) if token in names[kind]] for kind in names}
    rows = {part: range(*match.span(part)) for part in match.groupdict()}
    month = named["months"] * len(rows["months"])
    return [
        *(("digits", *both) for both in zip(rows["year"], digits[-4:], strict=True)),
        *(("months", *both) for both in zip(rows["months"], month, strict=True)),
        *(("digits", *both) for both in zip(rows["day"], digits[:-4], strict=True)),
        *(("weekdays", *both) for both in zip([*rows["zh"], *rows["ko"]], named["weekdays"], strict=True)),
    ]


def _batches(pairs: Sequence[Pair]) -> list[Sequence[Pair]]:
    if not pairs:
        raise ValueError("pairs must have at least one, got none")
    return [pairs[first : first + _BATCH] for first in range(0, len(pairs), _BATCH)]


def _share(hits: list[tuple[bool, bool]], column: int) -> float:
    return sum(hit[column] for hit in hits) / len(hits)
