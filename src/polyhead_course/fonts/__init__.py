"""The fonts of the figures: Noto Sans CJK, cut down by `make fonts` to what figures show."""

from pathlib import Path

# Language, its font's number in Noto's collection, and the family name that figures ask for.
FONTS = {"zh-TW": (3, "Polyhead CJK TC"), "zh-CN": (2, "Polyhead CJK SC"), "ko": (1, "Polyhead CJK KR")}


def path_of(language: str) -> Path:
    """The font file of one language."""
    return Path(__file__).with_name(f"PolyheadCJK-{language}.otf")
