"""Names of places and languages in the four languages, as CLDR has them, some of them held out.

CLDR, Unicode's Common Locale Data Repository, comes with the package Babel. Only training and evaluation need
it: what writes names has its characters from the checkpoint.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import NamedTuple

LOCALES = {"en": "en", "zh-TW": "zh_Hant_TW", "zh-CN": "zh_Hans_CN", "ko": "ko"}  # ours: CLDR's
ONE_IN = 10  # names held out
# What CLDR calls that which is no place and no language.
NOT_NAMES = {"ZZ", "XA", "XB", "und", "mul", "mis", "zxx"}


class Names(NamedTuple):
    """By language, each in order and once."""

    training: dict[str, list[str]]
    held_out: dict[str, list[str]]


def read_names() -> Names:
    """Territories, languages and cities of time zones in each language.

    What is held out is held out in all languages, and with it what begins alike in English: Bulgaria and
    Bulgarian, Mexico and Mexico City. A held-out name that is also that of something else, as in some
    languages an island's and its sea's, is left out.
    """
    english = dict(_coded("en"))
    training, held_out = {}, {}
    for language in LOCALES:
        sides: tuple[set[str], set[str]] = set(), set()
        for code, name in _coded(language):
            sides[is_held_out(english.get(code, code))].add(name)
        training[language], held_out[language] = sorted(sides[0]), sorted(sides[1] - sides[0])
    return Names(training, held_out)


def is_held_out(english: str) -> bool:
    """Whether the thing of this English name is kept from training, as the first four letters decide."""
    return int(hashlib.sha256(english[:4].lower().encode()).hexdigest(), 16) % ONE_IN == 0


def _coded(language: str) -> Iterator[tuple[str, str]]:
    """Code and name, such as `language/ko` and `Korean`."""
    try:
        from babel import Locale
    except ImportError as error:
        raise ImportError(
            "the names come with the package babel: pip install 'polyhead[training]'"
        ) from error
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
