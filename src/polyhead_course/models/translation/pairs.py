"""Dates in English and in another language, as Babel formats them by Unicode's CLDR."""

from __future__ import annotations

import datetime
import random
import zlib
from collections.abc import Iterator
from typing import Literal, NamedTuple, get_args

from polyhead.checked import Count, Size, checked
from polyhead_course.models.translation.dates import YEARS

Target = Literal["zh-TW", "zh-CN", "ko"]
TARGETS: tuple[Target, ...] = get_args(Target)
_LOCALES = {"zh-TW": "zh_Hant_TW", "zh-CN": "zh_Hans_CN", "ko": "ko_KR"}
_LENGTHS = ("full", "long", "medium")
_ENGLISH = ("en_US", "en_GB")


class Pair(NamedTuple):
    """A day in English and in another language, both in CLDR's form of the same length.

    >>> Pair(datetime.date(2026, 11, 20), "Nov 20, 2026", "ko", "2026. 11. 20.").to
    'ko'
    """

    date: datetime.date
    source: str
    to: Target
    target: str


def is_held_out(date: datetime.date) -> bool:
    """Tell whether a day is held out of training, in all languages and forms: one in twenty is.

    >>> [day for day in range(1, 31) if is_held_out(datetime.date(2026, 11, day))]
    [13, 18]
    """
    return zlib.crc32(date.isoformat().encode()) % 20 == 0


@checked
def training_pairs(number: Size, seed: Count = 0) -> list[Pair]:
    """Make pairs of random days that are not held out, each in a random form and language.

    >>> len(training_pairs(7))
    7
    """
    chance = random.Random(seed)
    days = [day for day in _days() if not is_held_out(day)]
    return [
        _pair(chance.choice(days), chance.choice(_ENGLISH), chance.choice(_LENGTHS), chance.choice(TARGETS))
        for _ in range(number)
    ]


@checked
def held_out_pairs(to: Target) -> list[Pair]:
    """Make pairs of all days that are held out; the six forms alternate.

    >>> held_out_pairs("ko")[0].date
    datetime.date(1900, 1, 2)
    """
    forms = [(order, length) for length in _LENGTHS for order in _ENGLISH]
    days = [day for day in _days() if is_held_out(day)]
    return [_pair(day, *forms[number % len(forms)], to) for number, day in enumerate(days)]


def _days() -> Iterator[datetime.date]:
    first, last = datetime.date(YEARS[0], 1, 1), datetime.date(YEARS[-1], 12, 31)
    return map(datetime.date.fromordinal, range(first.toordinal(), last.toordinal() + 1))


def _pair(date: datetime.date, english: str, length: str, to: Target) -> Pair:
    from babel.dates import format_date

    if date.month == 5 and length == "medium":
        length = "long"  # "May" is not shortened: in English both are the same text
    source, target = (format_date(date, length, locale=code) for code in (english, _LOCALES[to]))
    return Pair(date, source, to, target)
