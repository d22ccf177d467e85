"""English dates in the forms that the translator reads, the rule that checks a text, and pairs for training.

The rule is not part of the model, which translates any text, and never reports that it does not know. The
pairs are dates in English and in another language, as Babel formats them by Unicode's CLDR.
"""

import calendar
import datetime
import difflib
import random
import re
import reprlib
import zlib
from collections.abc import Iterator
from typing import Literal, NamedTuple, get_args

from polyhead.checked import Count, Size, checked

YEARS = range(1900, 2100)
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
US_MONTHS = tuple(name[:3] for name in MONTHS)
GB_MONTHS = tuple("Sept" if name == "Sep" else name for name in US_MONTHS)
_SPELLINGS = (MONTHS, US_MONTHS, GB_MONTHS)
# The number of a month, by each of its names.
MONTH_NUMBERS = {name: number for names in _SPELLINGS for number, name in enumerate(names, 1)}
FORMS = (
    "{weekday}, {month} {day}, {year}", "{month} {day}, {year}", "{us} {day}, {year}",
    "{weekday}, {day} {month} {year}", "{day} {month} {year}", "{day} {gb} {year}",
)  # fmt: skip
"""CLDR's full, long and medium form, in the order of the United States, and of Great Britain.

The short one is left out, since 9/12/2026 is a day of September here and of December there.
"""
_PARTS = {
    "weekday": f"(?P<weekday>{'|'.join(WEEKDAYS)})",
    "month": f"(?P<month>{'|'.join(MONTHS)})",
    # Either order is read with "Sep" and with "Sept".
    "us": f"(?P<month>{'|'.join(US_MONTHS + GB_MONTHS)})",
    "gb": f"(?P<month>{'|'.join(US_MONTHS + GB_MONTHS)})",
    "day": "(?P<day>[1-9][0-9]?)",
    "year": "(?P<year>[0-9]{4})",
}
PATTERNS = [re.compile(form.format(**_PARTS)) for form in FORMS]
_WORDS = {*WEEKDAYS, *MONTH_NUMBERS}
Target = Literal["zh-TW", "zh-CN", "ko"]
TARGETS: tuple[Target, ...] = get_args(Target)
_LOCALES = {"zh-TW": "zh_Hant_TW", "zh-CN": "zh_Hans_CN", "ko": "ko_KR"}
_LENGTHS = ("full", "long", "medium")
_ENGLISH = ("en_US", "en_GB")


def tokens_of(text: str) -> list[str]:
    """Split a text into words, single digits and signs, without the spaces.

    >>> tokens_of("20 Nov 2026")
    ['2', '0', 'Nov', '2', '0', '2', '6']
    """
    return re.findall(r"[0-9]|[^\W\d_]+|\S", text)


@checked
def read_date(text: str) -> datetime.date:
    """Parse an English date.

    Raises:
        ValueError: the text has an unknown word or none of the `FORMS`, or there is no such day; the message
            gives the reason.

    >>> read_date("Friday, November 20, 2026")
    datetime.date(2026, 11, 20)
    >>> read_date("31 Nov 2026")
    Traceback (most recent call last):
    ValueError: November 2026 has 30 days, got 31
    """
    text = " ".join(text.split())
    for token in tokens_of(text):
        if token not in _WORDS and token not in "0123456789,":
            near = difflib.get_close_matches(token[:20].capitalize(), sorted(_WORDS), n=1)
            hint = f", did you mean {near[0]!r}?" if near else ""
            raise ValueError(f"unknown word {reprlib.repr(token)}{hint}")
    match = next((match for pattern in PATTERNS if (match := pattern.fullmatch(text))), None)
    if match is None:
        raise ValueError(
            "the date must be written like 'Friday, November 20, 2026', 'November 20, 2026', 'Nov 20, 2026', "
            f"or 'Friday, 20 November 2026', '20 November 2026', '20 Nov 2026', got {reprlib.repr(text)}"
        )
    return _checked_day(**match.groupdict())


def _checked_day(year: str, month: str, day: str, weekday: str | None = None) -> datetime.date:
    """The day, if it exists, in a year that the model knows and on that weekday."""
    if int(year) not in YEARS:
        raise ValueError(f"the year must be from {YEARS[0]} to {YEARS[-1]}, got {year}")
    number = MONTH_NUMBERS[month]
    last = calendar.monthrange(int(year), number)[1]
    if int(day) > last:
        raise ValueError(f"{MONTHS[number - 1]} {year} has {last} days, got {day}")
    date = datetime.date(int(year), number, int(day))
    if weekday not in (None, right := WEEKDAYS[date.weekday()]):
        raise ValueError(f"that day is a {right}, got {weekday}")
    return date


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
