"""Readers' probes: what they catch, what they accuse, and the one hint that each gets."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from attention_clinic import laws, planted
from attention_clinic.planted import BUGS, CLASSES, build
from attention_clinic.small import SmallDecoder
from polyhead_course.exercises import checks
from polyhead_course.exercises.checks import probes
from polyhead_course.exercises.checks.probes import FAMILIES
from polyhead_course.words import set_language
from polyhead_course.words.language import text

pytestmark = pytest.mark.usefixtures("unchecked")
IDS = torch.arange(12)[None] % 11


def leaks(decoder, **options) -> bool:
    return bool(laws.gap(*(out(decoder, ids, **options)[:, 3:6] for ids in (IDS, laws.other_tokens(IDS, 6)))))


def out(decoder, ids, **options):
    output = decoder(ids, **options)
    return output[0] if isinstance(output, tuple) else output


def leaks_anywhere(decoder) -> bool:
    found = leaks(decoder) or leaks(decoder, need_weights=True) or leaks(decoder, mask=IDS >= 0)
    decoder.dropout = 0.0
    return found or leaks(decoder.train())


GOOD = {
    "causality": leaks_anywhere,
    "padding": lambda d: bool(laws.left_pad(d) or laws.batch(d)),
    "cache": lambda d: bool(laws.step(d) or laws.chunk(d)),
}


def said(candidate, family, capsys) -> list[str]:
    checks.probe(candidate, family)
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("family", FAMILIES)
def test_a_good_probe_finds_all_and_accuses_none(family, capsys):
    lines = said(GOOD[family], family, capsys)
    number = len(FAMILIES[family])
    assert lines[0] == text("probe.caught", number=number, total=number)
    assert lines[1 : number + 1] == [f"  ✓ {text(f'bug.{bug}')}" for bug in FAMILIES[family]]
    assert lines[-2:] == [text("probe.spared", number=5, total=5), text("probe.perfect")]


def unequal(decoder) -> bool:
    """What a cache gives must be the same to the last bit."""
    cache = decoder.new_cache()
    steps = torch.cat([decoder(token, cache=cache) for token in IDS.split(1, dim=1)], dim=1)
    return not torch.equal(steps.half(), decoder(IDS).half()) or decoder.logits.weight.dtype == torch.float32


BAD = {
    "never": ("cache", lambda d: False),
    "always": ("padding", lambda d: True),
    "exact": ("cache", unequal),
    "chance": ("causality", lambda d: leaks(d.train())),
    "accuses": ("cache", lambda d: d.softcap is not None),
}


@pytest.mark.parametrize("key", BAD)
def test_a_bad_probe_is_told_what_is_bad(key, capsys):
    family, candidate = BAD[key]
    set_language("ko")
    assert said(candidate, family, capsys)[-1] == text(f"probe.{key}")


@pytest.mark.parametrize(
    ("family", "candidate", "caught", "missed"),
    [
        ("causality", leaks, 3, "causal_eval_only"),
        ("cache", lambda d: laws.step(d) > 0, 2, "cache_open"),
        ("cache", lambda d: laws.chunk(d, length=4) > 0, 3, "cache_trimmed"),
        ("padding", lambda d: laws.left_pad(d) > 0, 4, "batch_mixed"),
        ("padding", lambda d: laws.batch(d) > 0 or 0 < laws.left_pad(d) < 9, 4, "mask_nan"),
    ],
)
def test_a_bug_that_goes_unnoticed_gets_a_hint(family, candidate, caught, missed, capsys):
    lines = said(candidate, family, capsys)
    assert lines[0] == text("probe.caught", number=caught, total=len(FAMILIES[family]))
    assert f"  ✗ {text(f'bug.{missed}')}" in lines
    hint = text(f"probe.hint.{missed}")
    assert lines[-1] == text("probe.missed", bug=text(f"bug.{missed}"), hint=hint)


def test_every_bug_of_a_family_has_a_hint():
    for bugs in FAMILIES.values():
        assert set(bugs) <= set(BUGS)
        assert all(text(f"probe.hint.{bug}") for bug in bugs)


@pytest.mark.parametrize("kind", [np.bool_, torch.tensor])
def test_truth_values_of_numpy_and_torch_are_as_good(kind, capsys):
    lines = said(lambda d: kind(GOOD["cache"](d)), "cache", capsys)
    assert lines[-1] == text("probe.perfect")


@pytest.mark.parametrize(
    ("candidate", "message"),
    [
        (lambda d: d.no_such, ("check.raises", "AttributeError")),
        (lambda d: None, ("check.no_bool", "NoneType")),
        (lambda d: 0.5, ("check.no_bool", "float")),
        (lambda d: torch.zeros(2) > 0, ("check.no_bool", "Tensor")),
    ],
)
def test_what_gives_no_truth_value_is_told_so(candidate, message, capsys):
    (line,) = said(candidate, "cache", capsys)
    key, part = message
    assert part in line
    assert line.startswith(text(key, error="", kind=part).rstrip(".")[:20])


def test_a_probe_that_never_ends_is_stopped(monkeypatch, capsys):
    def endless(decoder):
        while True:
            pass

    monkeypatch.setattr(probes, "SECONDS", 0.05)
    assert said(endless, "cache", capsys) == [text("check.never_ends", seconds=0.05)]


def test_another_family_is_refused():
    with pytest.raises(ValueError, match="family must be one of causality, padding, cache, got"):
        checks.probe(leaks, "typo")


def test_a_probe_may_change_what_it_gets_and_the_seed(capsys):
    def careless(decoder):
        torch.manual_seed(3)
        for parameter in decoder.parameters():
            parameter.data.zero_()
        return isinstance(decoder, CLASSES["rotary_queries_only"])

    before = torch.get_rng_state()
    said(careless, "cache", capsys)
    assert torch.equal(torch.get_rng_state(), before)
    assert laws.parity(planted.planted_decoder(), build(SmallDecoder)) == 0
