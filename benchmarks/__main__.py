"""`make bench`: seven forms of attention, generation with and without a cache, a real model, as tables."""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import sys
from importlib import metadata
from pathlib import Path

import torch

from benchmarks import generation, language_model
from benchmarks.forms import make
from benchmarks.measure import PASSES, Results, measure
from benchmarks.tables import report

LENGTHS = [128, 256, 512, 1024, 2048, 4096]
EMBED_DIM, NUM_HEADS = 512, 8
FULL_LENGTH = 256  # up to here every round is run; of longer sequences, in proportion, fewer
FEWEST_ROUNDS = 5


def main(arguments: list[str] | None = None) -> None:
    """Measure and print."""
    options = _options(arguments)
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    parts = {"attention": _attention, "generation": _generation, "language-model": _language_model}
    for name, part in parts.items():
        if options.only in (name, None):
            part(options)


def _attention(options: argparse.Namespace) -> None:
    forms = make(EMBED_DIM, NUM_HEADS)
    results: Results = {kind: {} for kind in PASSES}
    for length in options.lengths:
        rounds = max(
            min(FEWEST_ROUNDS, options.rounds), options.rounds * FULL_LENGTH // max(length, FULL_LENGTH)
        )
        print(f"length {length}: {rounds} rounds ...", file=sys.stderr, flush=True)
        for kind, by_form in measure(forms, length, EMBED_DIM, rounds).items():
            results[kind][length] = by_form
    setting = f"Self-attention, batch 1, embed_dim {EMBED_DIM}, {NUM_HEADS} heads"
    print(f"# Multi-head attention, seven ways\n\n{_conditions(setting)}\n\n{report(results)}\n")


def _generation(options: argparse.Namespace) -> None:
    print(f"generating {options.tokens} tokens: {options.runs} runs ...", file=sys.stderr, flush=True)
    model = generation.make(EMBED_DIM, NUM_HEADS, options.tokens)
    table = generation.report(generation.measure(model, options.tokens, options.runs))
    setting = (
        f"greedy_decode with DecoderOnly, {options.tokens} tokens, batch 1, embed_dim {EMBED_DIM}, "
        f"{NUM_HEADS} heads, {generation.NUM_LAYERS} layers, vocabulary {generation.VOCAB_SIZE}"
    )
    print(f"# Generation, with and without a cache\n\n{_conditions(setting)}\n\n{table}\n")


def _language_model(options: argparse.Namespace) -> None:
    print(f"a language model: {options.model_rounds} rounds ...", file=sys.stderr, flush=True)
    models = language_model.load()
    read, new = (64, 8) if options.quick else (512, 48)
    ways = language_model.make_ways(models, read, new)
    before = os.getloadavg()[0]
    size = language_model.READ_BYTES
    table = language_model.report(ways, language_model.measure(ways, options.model_rounds, size), size)
    setting = (
        f"SmolLM2-135M, batch 1; {new} tokens after {language_model.PROMPT_LENGTH} by greedy_decode, and by "
        f"generate of transformers {metadata.version('transformers')}; {options.model_rounds} rounds; "
        f"load of the machine {before:.1f} before and {os.getloadavg()[0]:.1f} after"
    )
    memory = language_model.cache_memory(models.ours, models.prompt[:, :read])
    print(f"# A real language model\n\n{_conditions(setting)}\n\n{table}\n{memory}")


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--lengths", type=_positive, nargs="+", default=None, help=f"default {LENGTHS}")
    parser.add_argument(
        "--rounds", type=_positive, default=None, help="rounds at short lengths (100); fewer at long ones"
    )
    parser.add_argument("--threads", type=_positive, default=1, help="of PyTorch (1)")
    parser.add_argument(
        "--only", choices=("attention", "generation", "language-model"), help="one of the three parts"
    )
    parser.add_argument("--tokens", type=_positive, default=None, help="to generate (256)")
    parser.add_argument("--runs", type=_positive, default=None, help="of the generation (5)")
    parser.add_argument("--model-rounds", type=_positive, default=None, help="of the language model (7)")
    parser.add_argument(
        "--quick",
        action="store_true",
        help="fewer lengths, rounds and tokens: a minute, and some more for the language model",
    )
    options = parser.parse_args(arguments)
    options.lengths = list(dict.fromkeys(options.lengths or (LENGTHS[:3:2] if options.quick else LENGTHS)))
    options.rounds = options.rounds or (20 if options.quick else 100)
    options.tokens = options.tokens or (64 if options.quick else 256)
    options.model_rounds = options.model_rounds or (1 if options.quick else 7)
    options.runs = options.runs or (3 if options.quick else 5)
    return options


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, got {number}")
    return number


def _conditions(setting: str) -> str:
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in ("torch", "d2l", "polyhead-workshop"))
    return (
        f"{setting}, float32; threads: {torch.get_num_threads()}. {versions}, "
        f"Python {platform.python_version()}; {_processor()}, {torch.backends.cpu.get_cpu_capability()}; "
        f"{datetime.date.today()}. "
        "Ratios are medians over interleaved rounds."
    )


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


if __name__ == "__main__":
    main()
