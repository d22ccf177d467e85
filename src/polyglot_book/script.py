"""Finds Simplified characters in Traditional Chinese text, and the other way round, by OpenCC."""

from __future__ import annotations

import functools

import opencc

# The frequent characters of Taiwan: OpenCC alone would also change 台 in 台灣 or 面 in 平面.
_BIG5_COMMON = range(0xA440, 0xC67F)
# In use on both sides: the words around them decide.
_BY_WORDS = set("后里于么并")
_TRADITIONAL_IN_GB2312 = set("後於徵麽乾")
# Rare, and right on both sides in a name or a word: 涂先生, 公厘, 昇腾.
_EITHER = set("涂厘熏庄昇瞭")


@functools.cache
def _converter(name: str) -> opencc.OpenCC:
    return opencc.OpenCC(name)


def _convert(name: str, text: str) -> str:
    """Convert a text, unless its length changes."""
    converted = str(_converter(name).convert(text))
    return converted if len(converted) == len(text) else text


def _number(char: str, encoding: str) -> int:
    """Return a character's number in an encoding, 0 if it has none."""
    return int.from_bytes(char.encode(encoding, "ignore"), "big")


def simplified_in(text: str) -> list[str]:
    """Find the characters that Traditional Chinese text must not have, in order and without repeats.

    >>> simplified_in("这個矩阵")
    ['这', '阵']
    """
    simplified = _convert("t2s", text)
    characters = [
        char
        for char, same, traditional in zip(text, simplified, _convert("s2t", simplified), strict=True)
        if char == same != traditional and (char in _BY_WORDS or _number(char, "big5") not in _BIG5_COMMON)
    ]
    return [char for char in dict.fromkeys(characters) if char not in _EITHER]


def traditional_in(text: str) -> list[str]:
    """Find the characters that Simplified Chinese text must not have, in order and without repeats.

    >>> traditional_in("这個矩阵")
    ['個']
    """
    characters = [
        char
        for char, simplified in zip(text, _convert("t2s", text), strict=True)
        if char != simplified and (char in _TRADITIONAL_IN_GB2312 or not _number(char, "gb2312"))
    ]
    return [char for char in dict.fromkeys(characters) if char not in _EITHER]


def script_of(code: str) -> str:
    """Return the Chinese script of a language: "Hant", "Hans", or "" for another language.

    >>> script_of("zh-TW"), script_of("zh-CN"), script_of("ko")
    ('Hant', 'Hans', '')
    """
    parts = code.split("-")
    if parts[0] != "zh":
        return ""
    return "Hant" if {"Hant", "TW", "HK", "MO"}.intersection(parts) and "Hans" not in parts else "Hans"
