"""The benchmark runs and prints; what it measures is not judged here, as it depends on the machine."""

from __future__ import annotations

import pytest
import torch

from benchmarks import __main__ as bench
from benchmarks.forms import check_agreement, make
from benchmarks.measure import peak_bytes


def test_prints_every_form_at_every_length(capsys: pytest.CaptureFixture[str]) -> None:
    threads = torch.get_num_threads()
    try:
        bench.main(["--lengths", "3", "5", "--rounds", "1"])
    finally:
        torch.set_num_threads(threads)
    printed = capsys.readouterr().out
    assert f"threads: 1. torch {torch.__version__}" in printed
    names = list(make(4, 2))
    assert len(names) == 11  # the baseline, seven forms, and the other ways to ask two of them
    rows = [line.split("|")[1].strip() for line in printed.splitlines() if line.startswith("|")]
    for name in names:
        assert rows.count(name) == 4, name  # two passes, time and memory
    assert rows.count("length") == 6


def test_forms_that_do_not_agree_are_refused() -> None:
    forms = make(6, 3)
    x = torch.randn(1, 5, 6)
    check_agreement(forms, x)
    with torch.no_grad():
        forms["d2l"][0].W_o.bias += 1.0
    with pytest.raises(ValueError, match="d2l must compute what the baseline does"):
        check_agreement(forms, x)


def test_peak_memory_counts_what_is_held_at_one_time() -> None:
    def two_at_a_time() -> None:
        for _ in range(3):
            a = torch.ones(1000, 256)  # 1,024,000 bytes
            b = a + 1.0
            del a, b

    assert peak_bytes(two_at_a_time) == pytest.approx(2 * 1000 * 256 * 4, abs=100)  # and the number 1.0
