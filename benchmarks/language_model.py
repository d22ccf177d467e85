"""SmolLM2-135M: time and memory beside transformers' model, which reads the same file."""

from __future__ import annotations

import copy
import math
import os
import random
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.measure import no_garbage_collection
from benchmarks.tables import markdown
from polyhead import DecoderOnly, greedy_decode
from polyhead.pretrained import smollm2
from polyhead.pretrained.smollm2 import smollm2_path
from polyhead_course.peers import transformers

PROMPT = "Attention lets each token look at the tokens before it, and "
PROMPT_LENGTH = 16
READ_BYTES = 2**29  # about as many as the weights in float32, far more than any processor's cache
HEAD = ["", "time", "tokens/s", "time / transformers", "CPU time / transformers", "at most", "time / floor"]


@dataclass(frozen=True)
class Models:
    """One model by both libraries, its prompt, and the token that ends a text."""

    ours: DecoderOnly
    compiled: DecoderOnly
    small: DecoderOnly  # in bfloat16
    theirs: Any
    prompt: Tensor  # (1, any length)
    end_id: int


@dataclass(frozen=True)
class Way:
    """Something that is timed: the tokens that it reads or writes, and what its time is compared with."""

    run: Callable[[], Tensor]
    num_tokens: int
    peer: str
    bound: float | None = None
    bytes_per_token: int = 0  # of weights, which cannot be read fewer than once a token


Times = dict[str, list[tuple[float, float]]]  # wall and CPU seconds by way, a pair for each round


def load() -> Models:
    """Read the file with both libraries, and compile each layer of ours."""
    os.environ["HF_HUB_OFFLINE"] = "1"  # otherwise transformers asks the network for a tokenizer
    model, tokenizer, end_id = smollm2()
    path = smollm2_path()
    theirs = transformers().LlamaForCausalLM.from_pretrained(
        path.parent, gguf_file=path.name, dtype=torch.float32
    )
    prompt = torch.tensor([tokenizer.encode(PROMPT * 60).ids])
    return Models(
        model, with_compiled_layers(model), smollm2(torch.bfloat16).model, theirs.eval(), prompt, end_id
    )


class OneRowLinear(nn.Linear):
    """A linear layer that, once compiled, reads its weight for a single token at the memory's speed.

    Called with one row, MKL's product of matrices is a third slower than the compiler's sum of products.

    >>> layer = OneRowLinear(3, 2)
    >>> x = torch.randn(1, 1, 3)
    >>> torch.allclose(layer(x), nn.functional.linear(x, layer.weight, layer.bias))
    True
    """

    def forward(self, x: Tensor) -> Tensor:
        """Compute x · Wᵀ + b."""
        if x.shape[:-1].numel() != 1:
            return super().forward(x)
        output = (self.weight * x).sum(dim=-1).view(*x.shape[:-1], -1)
        return output if self.bias is None else output + self.bias


def with_compiled_layers(model: DecoderOnly, backend: str = "inductor") -> DecoderOnly:
    """Share a model's weights, with each layer compiled: all layers run the code of the first."""
    decoder = copy.copy(model.decoder)
    shared = {id(weight): weight for weight in decoder.parameters()}
    copies = copy.deepcopy(decoder.layers, shared)
    for each in copies.modules():
        if type(each) is nn.Linear:
            each.__class__ = OneRowLinear
    layers = nn.ModuleList(torch.compile(each, dynamic=True, backend=backend) for each in copies)
    decoder._modules = {**decoder._modules, "layers": layers}
    return DecoderOnly(model.embedding, decoder, model.output).eval()


def make_ways(models: Models, num_read: int, num_new: int) -> dict[str, Way]:
    """Make what is timed: reading a prompt, and generation with and without the cache."""
    prompt = models.prompt[:, :PROMPT_LENGTH]

    def ours(model: DecoderOnly, use_cache: bool = True) -> Callable[[], Tensor]:
        return lambda: greedy_decode(
            model, prompt, end_id=models.end_id, max_new_tokens=num_new, use_cache=use_cache
        )

    def theirs(use_cache: bool) -> Callable[[], Tensor]:
        options = {"max_new_tokens": num_new, "do_sample": False, "use_cache": use_cache}
        options |= {"eos_token_id": models.end_id, "pad_token_id": models.end_id}
        mask = torch.ones_like(prompt)
        return lambda: models.theirs.generate(prompt, attention_mask=mask, **options)[:, prompt.shape[1] :]

    text = models.prompt[:, :num_read]
    read, cached, uncached = f"{num_read} tokens at once", "with the cache", "without a cache"
    size, small_size = (
        sum(each.nbytes for each in model.parameters()) for model in (models.ours, models.small)
    )
    return {
        f"{read}, ours": Way(lambda: models.ours(text), num_read, f"{read}, transformers", 1.0),
        f"{read}, transformers": Way(lambda: models.theirs(text).logits, num_read, ""),
        f"{cached}, ours": Way(ours(models.ours), num_new, f"{cached}, transformers", 1.0, size),
        f"{cached}, ours compiled": Way(
            ours(models.compiled), num_new, f"{cached}, transformers", 0.85, size
        ),
        f"{cached}, ours in bfloat16": Way(
            ours(models.small), num_new, f"{cached}, transformers", None, small_size
        ),
        f"{cached}, transformers": Way(theirs(True), num_new, "", None, size),
        f"{uncached}, ours": Way(ours(models.ours, False), num_new, f"{uncached}, transformers", 1.0),
        f"{uncached}, transformers": Way(theirs(False), num_new, ""),
    }


@torch.no_grad()
def measure(ways: dict[str, Way], rounds: int, read_bytes: int) -> Times:
    """Time every way once in each round, in random order, and "floor": one read of `read_bytes` of memory.

    Raises:
        ValueError: a way does not write what the others do, or stops: its time could not be compared.
    """
    memory = torch.ones(read_bytes // 4)
    runs = {name: way.run for name, way in ways.items()} | {"floor": memory.sum}
    check_agreement({name: (way, way.run()) for name, way in ways.items()})  # this also warms up
    times: Times = {name: [] for name in runs}
    order, shuffle = list(runs), random.Random(0).shuffle
    with no_garbage_collection():
        for _ in range(rounds):
            shuffle(order)
            for name in order:
                wall, cpu = time.perf_counter(), time.process_time()
                runs[name]()
                times[name].append((time.perf_counter() - wall, time.process_time() - cpu))
    return times


def check_agreement(outputs: dict[str, tuple[Way, Tensor]]) -> None:
    """Compare tokens exactly, and logits to 1e-3; those of bfloat16 are others, and only counted."""
    for name, (way, output) in outputs.items():
        if output.shape[1] != way.num_tokens:
            raise ValueError(f"{name} must have {way.num_tokens} tokens, got {output.shape[1]}")
        if way.bound is not None:
            expected = outputs[way.peer][1]
            if not torch.allclose(output.to(expected.dtype), expected, rtol=0, atol=1e-3):
                raise ValueError(f"{name} must compute what transformers does, got something else")


def report(ways: dict[str, Way], times: Times, read_bytes: int) -> str:
    """Return one table: medians over the rounds, and medians of the ratios within a round."""
    rows = [HEAD]
    for name, way in ways.items():
        seconds = statistics.median(wall for wall, _ in times[name])
        ratios = [_ratio(times, name, way.peer, clock) for clock in (0, 1)] if way.peer else []
        floor = way.num_tokens * way.bytes_per_token / read_bytes  # in reads of the memory
        rows.append([
            name, f"{seconds:.2f} s", f"{way.num_tokens / seconds:.1f}",
            *(f"{each:.2f}" for each in ratios or [1.0, 1.0]),
            "" if way.bound is None else f"{way.bound:.2f}",
            f"{_ratio(times, name, 'floor', 0) / floor:.2f}" if floor else "",
        ])  # fmt: skip
    bandwidth = read_bytes / statistics.median(wall for wall, _ in times["floor"])
    note = (
        f"The floor is the time to read all weights once a token, at {bandwidth / 1e9:.1f} GB/s, which the "
        "sum of a large tensor reached in the same rounds."
    )
    return f"{markdown(rows)}\n\n{note}"


def _ratio(times: Times, name: str, other: str, clock: int) -> float:
    return statistics.median(a[clock] / b[clock] for a, b in zip(times[name], times[other], strict=True))


@torch.no_grad()
def cache_memory(model: DecoderOnly, prompt: Tensor) -> str:
    """Compare the bytes of the cache's tensors for each token with the arithmetic.

    >>> from polyhead.pretrained.llama import make_llama
    >>> sizes = {"vocab_size": 11, "hidden_size": 6, "intermediate_size": 8, "num_hidden_layers": 2}
    >>> model = make_llama({"model_type": "llama", **sizes, "num_attention_heads": 3, "hidden_act": "silu"})
    >>> cache_memory(model, torch.tensor([[3, 1, 4]]))
    'The cache holds 96 bytes a token; 2 · 2 layers · 3 heads · 2 numbers · 4 bytes = 96.'
    """
    cache = model.new_cache()
    model(prompt, cache=cache)
    tensors = [each for layer in cache.layers for each in layer.self_attention.read()]
    measured = sum(each.nbytes for each in tensors) / cache.length
    _, heads, _, size = tensors[0].shape
    factors = 2, len(cache.layers), heads, size, tensors[0].itemsize
    names = ("", " layers", " heads", " numbers", " bytes")
    terms = " · ".join(f"{number}{name}" for number, name in zip(factors, names, strict=True))
    return f"The cache holds {measured:,.0f} bytes a token; {terms} = {math.prod(factors):,}."
