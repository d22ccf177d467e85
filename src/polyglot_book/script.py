"""Finds Simplified characters in Traditional Chinese text, and the other way round, by OpenCC."""

from __future__ import annotations

import functools
import re

import opencc

_HAN_RUN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]+")
# The text encodings of either side say which characters belong to it: OpenCC's converters alone would also
# change 后 in 皇后, 台 in 台灣 or 里 in 公里. What the encodings hold too much or too little is listed here.
_BIG5_COMMON = range(0xA440, 0xC67F)  # Big5's first level: the frequent characters
_SIMPLIFIED_IN_BIG5_COMMON = set("么并")
_TRADITIONAL_IN_BIG5_RARE = set("厘熏昵涂庄膻炖蚝栖蒏蔂沄跖瓮")
_TRADITIONAL_IN_GB = set("後於徵麽乾")
_SIMPLIFIED_OUTSIDE_GB = set("昇喆堃淼麴")
# Common on both sides, with different meanings: the words around them decide.
_BY_CONTEXT = set("后里")
_YU = re.compile(r"(?<=[由對等關關基位大小用在至屬低高處介源限出終善])于|于(?=是|此)")
_SET_PHRASES = re.compile("拮据")


@functools.cache
def _converter(name: str) -> opencc.OpenCC:
    return opencc.OpenCC(name)


def _encoded(char: str, encoding: str) -> int:
    """Give a character's number in an encoding of two bytes; 0 where it has none."""
    try:
        return int.from_bytes(char.encode(encoding), "big")
    except UnicodeEncodeError:
        return 0


def _convert(name: str, text: str) -> str:
    """Convert, but only where each character becomes one character."""
    converted = str(_converter(name).convert(text))
    return converted if len(converted) == len(text) else text


@functools.cache
def _is_simplified_only(char: str) -> bool:
    if _convert("t2s", char) != char or char in _TRADITIONAL_IN_BIG5_RARE:
        return False
    # s2tw keeps what Taiwan writes (床, 峰), s2t would turn it into older forms.
    if char == _convert("s2tw", char) or char == _convert("s2t", char):
        return False
    return _encoded(char, "big5") not in _BIG5_COMMON or char in _SIMPLIFIED_IN_BIG5_COMMON


@functools.cache
def _is_traditional_only(char: str) -> bool:
    if char in _TRADITIONAL_IN_GB:
        return True
    changed = _convert("t2s", char) != char
    return changed and not _encoded(char, "gb2312") and char not in _SIMPLIFIED_OUTSIDE_GB


def simplified_in(text: str) -> list[str]:
    """Find the characters that Traditional Chinese text must not have, in order and without repeats."""
    found: dict[str, None] = {}
    for run in _HAN_RUN.findall(_SET_PHRASES.sub("", text)):
        there_and_back = _convert("s2t", _convert("t2s", run))
        yu = {match.start() for match in _YU.finditer(run)}
        for index, char in enumerate(run):
            if (
                (char in _BY_CONTEXT and there_and_back[index] != char)
                or index in yu
                or _is_simplified_only(char)
            ):
                found[char] = None
    return list(found)


def traditional_in(text: str) -> list[str]:
    """Find the characters that Simplified Chinese text must not have, in order and without repeats."""
    found: dict[str, None] = {}
    for run in _HAN_RUN.findall(text):
        converted = _convert("t2s", run)
        for index, char in enumerate(run):
            # 乾坤 stays, 乾淨 does not: the converter knows the words.
            if converted[index] != char and _is_traditional_only(char):
                found[char] = None
    return list(found)


def script_of(code: str) -> str:
    """Give the Chinese script of a language: "Hant", "Hans", or "" for another language."""
    parts = code.split("-")
    if parts[0] != "zh":
        return ""
    return "Hant" if {"Hant", "TW", "HK", "MO"}.intersection(parts) and "Hans" not in parts else "Hans"
