"""Names of places and languages in the four languages, from CLDR, with some of them held out.

CLDR, Unicode's Common Locale Data Repository, comes with the package Babel. Only training and evaluation need
it: a `NameWriter` has its characters from the checkpoint.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import NamedTuple

LOCALES = {"en": "en", "zh-TW": "zh_Hant_TW", "zh-CN": "zh_Hans_CN", "ko": "ko"}  # ours: CLDR's
ONE_IN = 10  # the share of names held out is 1 / ONE_IN
# CLDR's codes for what is neither a place nor a language.
NOT_NAMES = {"ZZ", "XA", "XB", "und", "mul", "mis", "zxx"}


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
