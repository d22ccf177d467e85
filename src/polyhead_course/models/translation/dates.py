"""English dates in the forms that the translator reads, and the rule that checks a text.

The rule is not part of the model, which translates any text, and never reports that it does not know.
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
    # Either order is read with "Sep" and with "Sept".
    "us": f"(?P<month>{'|'.join(US_MONTHS + GB_MONTHS)})",
    "gb": f"(?P<month>{'|'.join(US_MONTHS + GB_MONTHS)})",
    "day": "(?P<day>[1-9][0-9]?)",
    "year": "(?P<year>[0-9]{4})",
}
PATTERNS = [re.compile(form.format(**_PARTS)) for form in FORMS]
_WORDS = {*WEEKDAYS, *MONTH_NUMBERS}


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
