"""The table of the language model is complete; a tiny model of the same architecture takes its place."""

from __future__ import annotations

import pytest
import torch

from benchmarks import __main__ as bench
from benchmarks import language_model
from benchmarks.language_model import HEAD, Models, Way, with_compiled_layers
from polyhead.pretrained.llama import load_llama
from polyhead_course.peers import transformers


def tiny_models() -> Models:
    config = transformers().LlamaConfig(
        vocab_size=101, hidden_size=12, intermediate_size=17, num_hidden_layers=2, num_attention_heads=3,
        num_key_value_heads=1, tie_word_embeddings=True, hidden_act="silu",
    )  # fmt: skip
    torch.manual_seed(0)
    theirs = transformers().LlamaForCausalLM(config).eval()
    ours, small = (load_llama(theirs.state_dict(), config.to_dict()).eval() for _ in range(2))
    prompt = torch.randint(100, (1, 64))
    return Models(ours, with_compiled_layers(ours, "eager"), small.bfloat16(), theirs, prompt, end_id=100)


def test_prints_every_way_in_quick_mode(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, unchecked: None
) -> None:
    monkeypatch.setattr(language_model, "load", tiny_models)
    monkeypatch.setattr(language_model, "READ_BYTES", 2**20)
    threads = torch.get_num_threads()
    try:
        bench.main(["--only", "language-model", "--quick"])
    finally:
        torch.set_num_threads(threads)
    printed = capsys.readouterr().out
    assert "float32; threads: 1" in printed
    assert "load of the machine" in printed
    assert "The cache holds 64 bytes a token; 2 · 2 layers · 1 heads · 4 numbers · 4 bytes = 64." in printed
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in printed.splitlines() if "|" in line]
    assert rows[0] == HEAD
    assert [(row[0], row[5], row[6] != "") for row in rows[2:]] == [
        ("64 tokens at once, ours", "1.00", False),
        ("64 tokens at once, transformers", "", False),
        ("with the cache, ours", "1.00", True),
        ("with the cache, ours compiled", "0.85", True),
        ("with the cache, ours in bfloat16", "", True),
        ("with the cache, transformers", "", True),
        ("without a cache, ours", "1.00", False),
        ("without a cache, transformers", "", False),
    ]


def test_ratios_are_those_within_a_round_and_the_floor_is_bytes_over_bandwidth() -> None:
    """The second round was disturbed: everything took ten times as long."""
    ways = {
        "ours": Way(torch.empty, 5, "theirs", 1.0, bytes_per_token=300), "theirs": Way(torch.empty, 5, "")
    }  # fmt: skip
    rounds = {"ours": (3.0, 2.0), "theirs": (2.0, 4.0), "floor": (0.5, 0.5)}
    times = {name: [(a, b), (10 * a, 10 * b), (a, b)] for name, (a, b) in rounds.items()}
    table, _, note = language_model.report(ways, times, read_bytes=500).partition("\n\n")
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()]
    # 5 tokens of 300 bytes, at 500 bytes in 0.5 seconds, take 1.5 seconds.
    assert rows[2:] == [
        ["ours", "3.00 s", "1.7", "1.50", "0.50", "1.00", "2.00"],
        ["theirs", "2.00 s", "2.5", "1.00", "1.00", "", ""],
    ]
    assert "0.0 GB/s" in note


def test_what_computes_something_else_or_stops_is_refused(unchecked: None) -> None:
    models = tiny_models()
    ways = language_model.make_ways(models, 7, 5)
    outputs = {name: (way, way.run()) for name, way in ways.items()}
    language_model.check_agreement(outputs)
    name = "with the cache, ours"
    wrong = outputs[name][1].clone()
    wrong[0, 3] += 1
    with pytest.raises(ValueError, match=f"{name} must compute what transformers does"):
        language_model.check_agreement({**outputs, name: (ways[name], wrong)})
    with pytest.raises(ValueError, match=f"{name} must have 5 tokens, got 4"):
        language_model.check_agreement({**outputs, name: (ways[name], wrong[:, :4])})
