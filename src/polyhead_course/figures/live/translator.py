"""The date translator in the page: the reader types a date, chooses a layer, and switches heads off."""

from polyhead.checked import checked
from polyhead.heads.removal import all_heads, attentions
from polyhead_course.figures import plots
from polyhead_course.figures.live.explorable import Explorable
from polyhead_course.figures.plots.drawing import to_array
from polyhead_course.models.translation import TARGETS, dates, load_translator, translate
from polyhead_course.models.translation.dates import Target
from polyhead_course.models.translation.translator import CHECKPOINT, LONGEST
from polyhead_course.words.language import get_language, text

_NAMES = {
    "weekday": dates.WEEKDAYS, "month": dates.MONTHS, "us": dates.US_MONTHS, "gb": dates.GB_MONTHS,
}  # fmt: skip


@checked
def translator(date: str, to: Target | None = None) -> Explorable:
    """The cross-attention of one date's translation, in which the reader translates other dates.

    A reader whose language is none of `TARGETS` can choose among them.

    Args:
        date: An English date, as `polyhead_course.models.translation` reads it.
        to: The target language; by default the reader's, else the first of `TARGETS`.

    >>> figure = translator("Friday, November 20, 2026", to="ko")
    >>> "".join(figure.data["target_tokens"])
    '2026년 11월 20일 금요일'
    """
    own = next((each for each in TARGETS if each == get_language()), None)
    targets = [to or own] if own else list(TARGETS)
    shown = translate(date, to or targets[0])
    model = load_translator().model
    return Explorable(
        "translator", plots.translation_weights(shown.weights, shown.source_tokens, shown.target_tokens),
        forms=list(dates.FORMS),
        names={kind: list(names) for kind, names in _NAMES.items()},
        years=[dates.YEARS[0], dates.YEARS[-1]], date=_numbered(date),
        targets=[{"code": code, "name": text(f"language.{code}")} for code in targets],
        to=targets.index(to or targets[0]), source_tokens=list(shown.source_tokens),
        target_tokens=list(shown.target_tokens), weights=to_array(shown.weights).tolist(),
        attentions=[list(place) for place in attentions(model)],
        heads=len(all_heads(model)) // len(attentions(model)), longest=LONGEST,
        kilobytes=round(CHECKPOINT.stat().st_size / 1000),
    )  # fmt: skip


def _numbered(date: str) -> list[int]:
    """Give the number of the date's form, the year, month and day, from which the module writes the date."""
    day, text = dates.read_date(date), " ".join(date.split())
    form = next(number for number, pattern in enumerate(dates.PATTERNS) if pattern.fullmatch(text))
    return [form, day.year, day.month, day.day]
