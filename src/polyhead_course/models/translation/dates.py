"""English dates as the translator reads them, and the rule that says whether a text is one.

The rule is no part of the model, which would translate anything, and never say that it does not know.
"""

from __future__ import annotations

import calendar
import datetime
import difflib
import re
import reprlib

from polyhead.checked import checked

YEARS = range(1900, 2100)
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
US_MONTHS = tuple(name[:3] for name in MONTHS)
GB_MONTHS = tuple("Sept" if name == "Sep" else name for name in US_MONTHS)
# The number of a month, by each of its names.
MONTH_NUMBERS = {
    name: number for names in (MONTHS, US_MONTHS, GB_MONTHS) for number, name in enumerate(names, 1)
}
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
    "us": f"(?P<month>{'|'.join(US_MONTHS)})",
    "gb": f"(?P<month>{'|'.join(GB_MONTHS)})",
    "day": "(?P<day>[1-9][0-9]?)",
    "year": "(?P<year>[0-9]{4})",
}
_PATTERNS = [re.compile(form.format(**_PARTS)) for form in FORMS]
_WORDS = {*WEEKDAYS, *MONTH_NUMBERS}


def tokens_of(text: str) -> list[str]:
    """Words, single digits and signs; the spaces between them are left out."""
    return re.findall(r"[0-9]|[^\W\d_]+|\S", text)


@checked
def read_date(text: str) -> datetime.date:
    """The day that an English date names.

    Raises:
        ValueError: the text is not understood, and why: it has an unknown word, none of the `FORMS`, or there
            is no such day.
    """
    text = " ".join(text.split())
    for token in tokens_of(text):
        if token not in _WORDS and token not in "0123456789,":
            near = difflib.get_close_matches(token[:20].capitalize(), sorted(_WORDS), n=1)
            hint = f", did you mean {near[0]!r}?" if near else ""
            raise ValueError(f"unknown word {reprlib.repr(token)}{hint}")
    match = next((match for pattern in _PATTERNS if (match := pattern.fullmatch(text))), None)
    if match is None:
        raise ValueError(
            "the date must be written like 'Friday, November 20, 2026', 'November 20, 2026', 'Nov 20, 2026', "
            f"or 'Friday, 20 November 2026', '20 November 2026', '20 Nov 2026', got {reprlib.repr(text)}"
        )
    return _checked_day(**match.groupdict())


def _checked_day(year: str, month: str, day: str, weekday: str | None = None) -> datetime.date:
    """The day, if there is one, on that weekday, in a year that the model knows."""
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
