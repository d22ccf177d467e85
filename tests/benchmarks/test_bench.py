"""The benchmark runs and prints; what it measures is not judged here, as it depends on the machine."""

from __future__ import annotations

import pytest
import torch

from benchmarks import __main__ as bench
from benchmarks import generation
from benchmarks.forms import check_agreement, make
from benchmarks.measure import peak_bytes


def test_prints_every_form_at_every_length(capsys: pytest.CaptureFixture[str]) -> None:
    threads = torch.get_num_threads()
    try:
        bench.main(["--only", "attention", "--lengths", "3", "5", "--rounds", "1"])
    finally:
        torch.set_num_threads(threads)
    printed = capsys.readouterr().out
    assert f"threads: 1. torch {torch.__version__}" in printed
    names = list(make(4, 2))
    assert len(names) == 11  # the baseline, seven forms, and the other calls of two of them
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


def test_prints_the_time_of_generation(capsys: pytest.CaptureFixture[str]) -> None:
    threads = torch.get_num_threads()
    try:
        bench.main(["--only", "generation", "--tokens", "5", "--runs", "2"])
    finally:
        torch.set_num_threads(threads)
    printed = capsys.readouterr().out
    assert (
        "5 tokens, batch 1, embed_dim 512, 8 heads, 6 layers, vocabulary 1009, float32; threads: 1" in printed
    )
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in printed.splitlines() if "|" in line]
    assert rows[0] == ["", "with cache", "without cache", "without / with"]
    assert [row[0] for row in rows[2:]] == [
        "a token, first 2", "a token, last 2", "last / first", "a token, all",
    ]  # fmt: skip


def test_generation_takes_medians_of_ratios_within_a_run() -> None:
    """The second run was disturbed: all of it took ten times as long."""
    runs = [generation.Run([0.001, 0.002, 0.003], [0.002, 0.004, 0.012])] * 2
    runs.insert(1, generation.Run([0.010, 0.020, 0.030], [0.020, 0.040, 0.120]))
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in generation.report(runs).splitlines()]
    assert rows[2:] == [
        ["a token, first 1", "1.00 ms", "2.00 ms", "2.00"],
        ["a token, last 1", "3.00 ms", "12.00 ms", "4.00"],
        ["last / first", "3.00", "6.00", ""],
        ["a token, all", "2.00 ms", "6.00 ms", "3.00"],
    ]


def test_generation_that_differs_or_ends_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    model = generation.make(6, 3, 5)
    assert len(generation.measure(model, 5, 1)[0].cached) == 5
    times = generation.seconds_of_tokens
    monkeypatch.setattr(
        generation, "seconds_of_tokens", lambda m, n, cached: ([int(cached)] * n, times(m, n, cached)[1])
    )
    with pytest.raises(ValueError, match="both ways must write the same 5 tokens"):
        generation.measure(model, 5, 1)
