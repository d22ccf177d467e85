"""Prepare the interactive atlas of SmolLM2's heads: twelve texts, their weights, and continuations."""

from __future__ import annotations

import argparse
import json
import zlib
from collections.abc import Collection, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from attention_clinic.plant import plant
from experiments.command import run_command
from experiments.heads import random_heads
from polyhead.heads import Head, all_heads
from polyhead.heads.removal import attentions, hooked
from polyhead.pretrained import SmolLM2, smollm2
from polyhead_course.figures.plots.scripts import subscript
from polyhead_course.models import smollm2 as tables
from polyhead_course.models.smollm2.atlas import atlas
from polyhead_course.models.smollm2.readings import BUGS, Reading

TEXTS = {
    ("", "password"): "The password is vutra kelomi sandrip. Write it down. The password is",
    ("", "sentences"): "The fox saw a crow. The crow had a piece of cheese. The fox",
    ("", "list"): "Days of the week: Monday, Tuesday, Wednesday, Thursday,",
    ("", "dialogue"): "Anna: Where is my key? Ben: Your key is on the table. Anna:",
    ("en", "capitals"): "The capital of France is Paris, and the capital of Italy is",
    ("en", "kitchen"): "Tom and Mary sat in the kitchen, and Tom handed the salt to",
    ("zh-TW", "glance"): "你看我，我看你，",
    ("zh-TW", "jade"): "台灣最高的山是玉山。",
    ("zh-CN", "apple"): "我爱吃苹果，你爱吃",
    ("zh-CN", "beijing"): "中国的首都是北京。",
    ("ko", "mountain"): "산은 산이요 물은",
    ("ko", "spring"): "봄이 오면 꽃이",
}
LONGEST = 12  # tokens that the model writes
CLOSE = 0.05  # of two logits: nearer ones may change places on another machine


def token_labels(text: str, spans: Sequence[tuple[int, int]]) -> list[str]:
    """Name the tokens by the characters that they cover; a character's pieces have numbers.

    >>> token_labels("a 山", [(0, 1), (1, 3), (2, 3), (2, 3)])
    ['a', '山₁', '山₂', '山₃']
    """
    ends = [end for _, end in spans]
    labels = [text[start:end].strip() for start, end in spans]
    return [
        label if ends.count(end) == 1 else label + subscript(number - ends.index(end) + 1)
        for number, (label, end) in enumerate(zip(labels, ends, strict=True))
    ]


@torch.inference_mode()
def weights_of(model: SmolLM2, text: str, bug: str = "none") -> bytes:
    """Compute the weights of all heads in per cent: the lower triangles, row by row, head by head."""
    ids = torch.tensor([model.tokenizer.encode(text).ids])
    weights = torch.cat(
        plant(model.model, bug)(ids, need_weights=True)[1]
    )  # (num_layers, num_heads, num_tokens, num_tokens)
    rows, columns = torch.tril_indices(ids.shape[1], ids.shape[1])
    return bytes((100 * weights[:, :, rows, columns]).round().flatten().int().tolist())


@torch.inference_mode()
def continuations(model: SmolLM2, text: str, choices: Sequence[Collection[Head]]) -> list[str]:
    """Continue a text in one batch, each row without some heads.

    A row ends where the model ends it, or where two tokens are almost equally likely.
    """
    layers, cache = attentions(model.model), model.model.new_cache()
    gates = {layer: torch.ones(len(choices), each.num_heads) for layer, each in layers.items()}
    for row, heads in enumerate(choices):
        for head in heads:
            gates[head.kind, head.layer][row, head.head] = 0
    tokens = torch.tensor([model.tokenizer.encode(text).ids] * len(choices))
    written, ended = torch.empty(len(choices), 0, dtype=torch.long), torch.zeros(len(choices)).bool()
    with hooked(
        each.register_forward_pre_hook(partial(_with_gates, gates[layer]), with_kwargs=True)
        for layer, each in layers.items()
    ):
        for _ in range(LONGEST):
            logits, best = model.model(tokens, cache=cache)[:, -1].topk(2)
            tokens = best[:, :1]
            ended |= (logits[:, 0] - logits[:, 1] < CLOSE) | (tokens[:, 0] == model.end_id)
            written = torch.cat([written, tokens.masked_fill(ended[:, None], model.end_id)], dim=1)
    texts = model.tokenizer.decode_batch(written.tolist())
    return [text.rstrip("\N{REPLACEMENT CHARACTER}") for text in texts]


def _with_gates(
    gates: Tensor, module: nn.Module, args: Any, kwargs: dict[str, Any]
) -> tuple[Any, dict[str, Any]]:
    """Pass the gates to an attention's call."""
    return args, {**kwargs, "head_gates": gates}


def heads_off(model: SmolLM2) -> dict[str, list[list[Head]]]:
    """Choose what is switched off: nothing, the heads of each kind but "mixed", and as many others."""
    kinds = {row.head: row.kind for row in atlas()}
    chosen: dict[str, list[list[Head]]] = {"none": [[]]}
    for kind in sorted({*kinds.values()} - {"mixed"}):
        heads = [head for head, name in kinds.items() if name == kind]
        others = [head for head in all_heads(model.model) if head not in heads]
        chosen[kind] = [heads, random_heads(others, len(heads), 0)]
    return chosen


def prepare(options: argparse.Namespace) -> None:
    """Write a file of weights for each text, and the table of the texts."""
    model, found = smollm2(), []
    (options.folder / "readings").mkdir(exist_ok=True)
    for (language, name), text in TEXTS.items():
        path = options.folder / "readings" / f"{name}.bin"
        path.write_bytes(zlib.compress(weights_of(model, text), 9))
        for bug in BUGS if name == "password" else ():
            ill = path.with_stem(f"{name}-{bug}")
            ill.write_bytes(zlib.compress(weights_of(model, text, bug), 9))
        tokens = token_labels(text, model.tokenizer.encode(text).offsets)
        off = heads_off(model)
        written = iter(continuations(model, text, [heads for choices in off.values() for heads in choices]))
        continued = {kind: [next(written) for _ in choices] for kind, choices in off.items()}
        found.append(Reading(name, language, text, tokens, continued)._asdict())
        print(name, len(tokens), path.stat().st_size, continued, flush=True)
    table = json.dumps(found, ensure_ascii=False, indent=1)
    (options.folder / "readings.json").write_text(table + "\n", encoding="utf-8")


def main(arguments: list[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser("python -m experiments.smollm2_live", description=__doc__)
    folder = Path(tables.__file__).parent
    parser.add_argument("--folder", type=Path, default=folder, help="where to write the files")
    parser.set_defaults(run=prepare)
    run_command(parser, arguments)


if __name__ == "__main__":
    main()
