"""The date translator: its rule, its data, its committed checkpoint on held-out days."""

from __future__ import annotations

import datetime
import subprocess
import sys

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from torch.testing import assert_close

from polyhead_course.models.translation import (
    TARGETS,
    Pair,
    Translator,
    alignment,
    exact_match,
    held_out_pairs,
    is_held_out,
    load_translator,
    read_date,
    right_sources,
    source_tokens,
    training_pairs,
    translate,
)
from polyhead_course.models.translation.dates import YEARS, _pair, tokens_of
from polyhead_course.models.translation.translator import CHECKPOINT

DAY = datetime.date(2026, 11, 20)
ENGLISH = {
    "Friday, November 20, 2026": "full", "November 20, 2026": "long", "Nov 20, 2026": "medium",
    "Friday, 20 November 2026": "full", "20 November 2026": "long", "20 Nov 2026": "medium",
}  # fmt: skip
WRITTEN = {
    "zh-TW": {"full": "2026年11月20日 星期五", "long": "2026年11月20日", "medium": "2026年11月20日"},
    "zh-CN": {"full": "2026年11月20日星期五", "long": "2026年11月20日", "medium": "2026年11月20日"},
    "ko": {"full": "2026년 11월 20일 금요일", "long": "2026년 11월 20일", "medium": "2026. 11. 20."},
}
SEVERAL = 400  # held-out days a language


def some_held_out(to):
    """Spread over the years and the six forms: 7 shares no factor with 6."""
    pairs = held_out_pairs(to)[::7]
    assert len(pairs) > SEVERAL
    return pairs


# ---- the rule


@pytest.mark.parametrize("text", ENGLISH)
def test_each_form_is_read(text):
    assert read_date(text) == DAY
    assert read_date(f"  {text.replace(' ', '   ')}\n") == DAY


@given(st.dates(datetime.date(YEARS[0], 1, 1), datetime.date(YEARS[-1], 12, 31)), st.sampled_from(TARGETS))
def test_what_babel_writes_is_read(date, to):
    for english in ("en_US", "en_GB"):
        for length in ("full", "long", "medium"):
            pair = _pair(date, english, length, to)
            assert read_date(pair.source) == date
            assert set(tokens_of(pair.source)) <= set(load_translator().source.tokens)
            assert set(pair.target) <= set(load_translator().target.tokens)


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("form", ["{day} Sep {year}", "Sept {day}, {year}"])
def test_either_order_is_read_and_translated_with_either_short_september(form, to):
    """Training has "Sep 5, 2026" and "5 Sept 2026" alone."""
    days = [datetime.date(year, 9, day) for year in YEARS for day in (1, 5, 12, 30)]
    texts = [form.format(day=day.day, year=day.year) for day in days]
    assert [read_date(text) for text in texts] == days
    targets = [_pair(day, "en_US", "medium", to).target for day in days]
    pairs = [Pair(*each) for each in zip(days, texts, [to] * len(days), targets, strict=True)]
    assert exact_match(load_translator(), pairs) == 1.0


REFUSED = {
    "": "must be written like .*got ''",
    " \t\n": "must be written like .*got ''",
    "February 30, 2024": "February 2024 has 29 days, got 30",
    "29 Feb 1900": "February 1900 has 28 days, got 29",
    "June 31, 2026": "June 2026 has 30 days, got 31",
    "Thursday, November 20, 2026": "a Friday, got Thursday",
    "November 20, 1899": "1900 to 2099, got 1899",
    "November 20, 2100": "1900 to 2099, got 2100",
    "Friday, Novembre 20, 2026": "unknown word 'Novembre', did you mean 'November'",
    "friday, november 20, 2026": "unknown word 'friday', did you mean 'Friday'",
    "tomorrow": "unknown word 'tomorrow'",
    "11/20/2026": "unknown word '/'",
    "2026年11月20日": "unknown word '年'",
    "２０ Nov 2026": "unknown word '２'",
    "٢٠ Nov 2026": "unknown word",
    "20 \u202eNov 2026": "unknown word",
    "\ud800": "unknown word",
    "-1": "unknown word '-'",
    "<s>": "unknown word '<'",
    "Nov 0, 2026": "must be written like",
    "November 05, 2026": "must be written like",
    "November 2 0, 2026": "must be written like",
    "November 20 2026": "must be written like",
    "Friday, Nov 20, 2026": "must be written like",
    "November 20, 26": "must be written like",
    "20, 2026 November": "must be written like",
    "November 20, 2026 November 20, 2026": "must be written like",
}


@pytest.mark.parametrize(("text", "message"), REFUSED.items(), ids=ascii)
def test_what_is_no_date_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        read_date(text)
    with pytest.raises(ValueError, match=message):
        translate(text, "ko")


WORDS = [
    "Friday", "Monday", "November", "Nov", "Sept", "Sep", "Feb", "20", "31", "5", "2026", "1900", ",", " ",
    "  ", "ko",
]  # fmt: skip


@given(
    st.text() | st.lists(st.sampled_from(WORDS)).map("".join) | st.lists(st.sampled_from(WORDS)).map(" ".join)
)
@example("29 Feb 2024")
def test_any_text_is_a_day_that_babel_writes_or_refused(text):
    try:
        date = read_date(text)
    except ValueError as error:
        assert len(str(error)) < 300
    else:
        sources = {_pair(date, *form, "ko").source for form in FORMS_OF_BABEL}
        assert " ".join(text.split()).replace("Sept ", "Sep ") in {
            source.replace("Sept ", "Sep ") for source in sources
        }


FORMS_OF_BABEL = [
    (english, length) for english in ("en_US", "en_GB") for length in ("full", "long", "medium")
]


@pytest.mark.parametrize("part", ["1", "a", ",", "November ", "Friday, ", " ", "年", "a b "], ids=ascii)
def test_ten_thousand_characters_are_refused_in_a_short_line(part):
    with pytest.raises(ValueError) as caught:
        read_date((part * 10_000)[:10_000])
    assert len(str(caught.value)) < 300


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("text", "to", "error"),
    [(None, "ko", TypeError), (DAY, "ko", TypeError), ("Nov 20, 2026", "fr", ValueError)],
)
def test_bad_arguments(text, to, error):
    with pytest.raises(
        error, match="text must be a str" if error is TypeError else "to must be one of.*'fr'"
    ):
        translate(text, to)


# ---- the data


@pytest.mark.parametrize("to", TARGETS)
def test_pairs_have_one_length_on_both_sides(to):
    for text, length in ENGLISH.items():
        english = "en_US" if text.endswith(", 2026") else "en_GB"
        assert _pair(DAY, english, length, to) == (DAY, text, to, WRITTEN[to][length])


def test_a_source_has_one_translation():
    """In May a month that is shortened and one that is not are the same word."""
    for to in TARGETS:
        written = {}
        for month in range(1, 13):
            for form in FORMS_OF_BABEL:
                pair = _pair(datetime.date(2026, month, 5), *form, to)
                assert written.setdefault(pair.source, pair.target) == pair.target


def test_days_are_held_out_in_all_languages_and_forms():
    trained = training_pairs(3_000, seed=1)
    assert not any(is_held_out(pair.date) for pair in trained)
    assert {pair.to for pair in trained} == set(TARGETS)
    days = [[pair.date for pair in held_out_pairs(to)] for to in TARGETS]
    assert days[0] == days[1] == days[2]
    assert all(map(is_held_out, days[0]))
    assert len(set(days[0])) == len(days[0]) == pytest.approx(73_049 / 20, rel=0.05)
    assert training_pairs(3_000, seed=1) == trained != training_pairs(3_000, seed=2)
    assert training_pairs(30, seed=1) == trained[:30]


def test_the_right_sources_of_one_date():
    source = source_tokens("Friday, November 20, 2026", "ko")
    assert source == ("<ko>", "Friday", ",", "November", "2", "0", ",", "2", "0", "2", "6")
    target = "2026년 11월 20일 금요일"
    pairs = {(target[row], row): (kind, column) for kind, row, column in right_sources(source, target)}
    assert pairs == {
        ("2", 0): ("digits", 7), ("0", 1): ("digits", 8), ("2", 2): ("digits", 9), ("6", 3): ("digits", 10),
        ("1", 6): ("months", 3), ("1", 7): ("months", 3),
        ("2", 10): ("digits", 4), ("0", 11): ("digits", 5), ("금", 14): ("weekdays", 1),
    }  # fmt: skip
    source = source_tokens("5 Nov 2026", "ko")
    rows = right_sources(source, "2026. 11. 5.")
    assert rows[4:] == [("months", 6, 2), ("months", 7, 2), ("digits", 10, 1)]
    weekday = {"zh-TW": 14, "zh-CN": 13}
    for to, row in weekday.items():
        assert right_sources(source_tokens("Friday, 20 November 2026", to), WRITTEN[to]["full"])[-1] == (
            "weekdays",
            row,
            1,
        )
    with pytest.raises(ValueError, match=r"target.*'2026/11/20'"):
        right_sources(source, "2026/11/20")


# ---- the committed checkpoint


def test_the_checkpoint_is_small_and_has_its_provenance():
    assert CHECKPOINT.stat().st_size < 2_000_000
    facts = load_translator().facts
    assert {"torch", "threads", "date", "babel", "recipe", "losses"} <= facts.keys()
    assert facts["recipe"]["steps"] == len(facts["losses"])


@pytest.mark.parametrize("to", TARGETS)
def test_it_translates_held_out_days_and_looks_at_the_right_words(to):
    pairs = some_held_out(to)
    assert exact_match(load_translator(), pairs) >= 0.999
    for kind, (share, diagonal) in alignment(load_translator(), pairs).items():
        assert share >= 0.9, kind
        assert diagonal < 0.2, kind


def test_alignment_and_exact_match_can_fail():
    torch.manual_seed(0)
    pairs = some_held_out("ko")[:60]
    untrained = Translator(load_translator().source, load_translator().target)
    assert exact_match(untrained, pairs) == 0
    assert max(share for share, _ in alignment(untrained, pairs).values()) < 0.6
    wrong = [pair._replace(target=pair.target.replace("1", "3")) for pair in pairs]
    unchanged = sum(pair.target == other.target for pair, other in zip(pairs, wrong, strict=True))
    assert exact_match(load_translator(), wrong) == pytest.approx(unchanged / len(pairs))
    with pytest.raises(ValueError, match="pairs"):
        exact_match(untrained, [])


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize(("text", "length"), ENGLISH.items())
def test_translations_by_hand(to, text, length):
    got = translate(text, to)
    assert got.text == "".join(got.target_tokens) == WRITTEN[to][length]
    assert got.source_tokens == (f"<{to}>", *tokens_of(text))
    assert got.weights.shape == (len(got.target_tokens), len(got.source_tokens))
    assert_close(got.weights.sum(dim=1), torch.ones(len(got.text)))


def test_a_row_of_weights_belongs_to_the_character_that_is_written():
    got = translate("Friday, November 20, 2026", "zh-TW")
    largest = [got.source_tokens[column] for column in got.weights.argmax(dim=1)]
    assert largest[:4] == ["2", "0", "2", "6"]
    assert largest[5:7] == ["November", "November"]
    assert largest[-1] == "Friday"


# ---- training and files


def test_the_loss_is_the_mean_over_characters_and_no_padding():
    pairs = [
        Pair(DAY, "Nov 20, 2026", "ko", "2026. 11. 20."),
        Pair(DAY, "20 November 2026", "zh-TW", "2026年11月20日"),
    ]
    translator, rows = load_translator(), torch.tensor([0, 1])
    total, count = translator.loss(pairs)(translator.model, rows)
    assert count == 14 + 12  # with an end each
    each = [translator.loss([pair])(translator.model, rows[:1])[0] for pair in pairs]
    assert_close(total, sum(each))


def test_saved_and_loaded_it_is_the_same(tmp_path):
    ours = load_translator()
    ours.save(tmp_path / "copy.safetensors")
    again = Translator.load(tmp_path / "copy.safetensors")
    assert again.facts == ours.facts
    assert again.translate("Nov 20, 2026", "ko").text == "2026. 11. 20."
    for name, weight in again.model.state_dict().items():
        assert torch.equal(weight, ours.model.state_dict()[name])


def test_translating_needs_neither_babel_nor_matplotlib():
    code = (
        "import sys; sys.modules['babel'] = sys.modules['matplotlib'] = None\n"
        "from polyhead_course.models.translation import translate\n"
        "print(translate('20 Nov 2026', 'ko').text)"
    )
    result = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)
    assert (result.returncode, result.stdout, result.stderr) == (0, "2026. 11. 20.\n", "")
