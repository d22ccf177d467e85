"""A candidate under watch: whatever it does, it is told, and the notebook lives on."""

from __future__ import annotations

import functools
import importlib
import signal
import sys
import threading
import time

import pytest
import torch

import attention_clinic as clinic
from attention_clinic.trial import CallFailed, TimeIsUp, Trial, call_with_timeout


def attend(query, key, value):
    return (query @ key.mT / query.shape[-1] ** 0.5).softmax(-1) @ value


def names(candidate, **options):
    return set(clinic.diagnose(candidate, kind="attention", **options).names)


def looping(query, key, value):
    while True:
        key = key + 1


def sleeping(query, key, value):
    time.sleep(60)


def swallowing(query, key, value):
    while True:
        try:
            key = key + 1
        except Exception:
            continue


def swallowing_all(query, key, value):
    while True:
        try:
            key = key + 1
        except:  # noqa: E722
            continue


@pytest.mark.parametrize("candidate", [looping, sleeping, swallowing, swallowing_all])
def test_what_never_ends_is_stopped_and_called_no_more(candidate):
    began, handler, traced = time.monotonic(), signal.getsignal(signal.SIGALRM), sys.gettrace()
    diagnosis = clinic.diagnose(candidate, kind="attention", seconds=0.05)
    assert diagnosis.names == ("never_ends",)
    assert time.monotonic() - began < 10
    assert "0.05" in str(diagnosis)
    assert signal.getsignal(signal.SIGALRM) is handler
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert sys.gettrace() is traced


@pytest.mark.parametrize("tracer", [None, lambda *_: None])  # coverage has one
@pytest.mark.parametrize("candidate", [looping, swallowing])
def test_outside_the_main_thread_too(candidate, tracer):
    found = []

    def run():
        sys.settrace(tracer)
        found.append(names(candidate, seconds=0.05))
        found.append(sys.gettrace())

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(20)
    assert found == [{"never_ends"}, tracer]


def test_what_is_imported_on_first_use_is_not_held_against_the_code(tmp_path, monkeypatch):
    for number in range(5):
        (tmp_path / f"slow_part_{number}.py").write_text("import time; time.sleep(0.2)", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)

    def candidate(query, key, value):
        for number in range(5):
            importlib.import_module(f"slow_part_{number}")
        return attend(query, key, value)

    assert clinic.diagnose(candidate, kind="attention", seconds=0.7)


@pytest.mark.parametrize("is_main", [True, False])
def test_a_long_import_is_not_left_half_done(tmp_path, monkeypatch, is_main):
    text = "import time\nfor _ in range(130): time.sleep(0.01)\nwhole = 1"
    (tmp_path / f"long_part_{is_main}.py").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    found = []

    def candidate(query, key, value):
        return importlib.import_module(f"long_part_{is_main}").whole * attend(query, key, value)

    def run():
        found.append(clinic.diagnose(candidate, kind="attention", seconds=0.1).names)

    if is_main:
        run()
    else:
        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        thread.join(20)
    assert found == [()]


def test_an_alarm_that_was_set_before_still_rings():
    rings = []
    handler = signal.signal(signal.SIGALRM, lambda *_: rings.append(1))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(TimeIsUp):
            call_with_timeout(0.02, lambda: time.sleep(5))
        time.sleep(0.3)
        assert rings == [1]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, handler)


def test_an_interrupt_goes_through():
    def interrupted(query, key, value):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        clinic.diagnose(interrupted, kind="attention")


def printing(query, key, value):
    print("shapes", query.shape)
    return attend(query, key, value)


def mutating(query, key, value):
    key.detach().mul_(0.5).div_(0.5).add_(1).sub_(2)
    return attend(query, key + 1, value)


def reseeding(query, key, value):
    torch.manual_seed(0)
    return attend(query, key, value)


def setting(query, key, value):
    torch.set_grad_enabled(False)
    return attend(query, key, value)


def doubling(query, key, value):
    torch.set_default_dtype(torch.float64)
    return attend(query, key, value)


@pytest.mark.parametrize(
    ("candidate", "name"),
    [
        (printing, "prints"),
        (mutating, "mutates"),
        (reseeding, "reseeds"),
        (setting, "settings"),
        (doubling, "settings"),
        (lambda q, k, v: attend(q, k, v).numpy(), "no_tensor"),
        (lambda q, k, v: attend(q, k, v).to_sparse(), "no_tensor"),
        (lambda q, k, v: attend(q, k, v).long(), "dtype"),
        (lambda q, k, v: attend(q, k, v)[..., :1], "shape"),
        (lambda q, k, v: attend(q, k), "raises"),
        (lambda q, k, v: sys.exit(1), "raises"),
        (lambda q, k, v: attend(q, k, v) + torch.rand(()), "not_deterministic"),
    ],
)
def test_conduct_is_told_alone_and_leaves_no_trace(candidate, name, capsys):
    before = torch.get_rng_state(), torch.is_grad_enabled(), torch.get_default_dtype()
    assert names(candidate) == {name}
    assert capsys.readouterr().out == ""
    assert torch.equal(torch.get_rng_state(), before[0])
    assert (torch.is_grad_enabled(), torch.get_default_dtype()) == before[1:]


def test_a_mistake_is_named_beside_the_conduct():
    def candidate(query, key, value):
        print("now")
        torch.manual_seed(3)
        return torch.dropout((query @ key.mT).softmax(-1), 0.0, True) @ value

    assert names(candidate) == {"unscaled", "prints", "reseeds"}


def test_dropout_is_switched_off_to_see_what_lies_behind_it():
    def candidate(query, key, value):
        return torch.dropout((query @ key.mT).softmax(-1), 0.3, True) @ value

    assert names(candidate) == {"not_deterministic", "unscaled"}


def test_what_a_candidate_draws_without_use_is_its_own_affair():
    def candidate(query, key, value):
        torch.rand(3)
        return attend(query, key, value)

    assert clinic.diagnose(candidate, kind="attention")


def test_a_call_passes_copies_and_tells_what_was_raised():
    trial, x = Trial(None), torch.zeros(3)
    trial.call(lambda x: x.add_(1), x)
    assert x.tolist() == [0, 0, 0]
    assert trial.conduct.keys() == {"mutates"}
    with pytest.raises(CallFailed) as stopped:
        trial.call(functools.partial(int, "seven"))
    assert stopped.value.finding.details["error"].startswith("ValueError: invalid literal")
    assert isinstance(stopped.value.error, ValueError)


def test_gradients_pass_through_the_copies():
    x = torch.ones(3, requires_grad=True)
    Trial(None).call(lambda x: (2 * x).sum().backward(), x)
    assert x.grad.tolist() == [2, 2, 2]
