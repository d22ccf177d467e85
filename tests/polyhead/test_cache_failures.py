"""A call with a cache that fails can be made again; what a cache refuses; a step compiles."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch.testing import assert_close

from polyhead import Decoder, DecoderCache, DecoderLayer, KVCache
from polyhead.cache import LayerCache
from tests.polyhead.caches import EXACT, SOURCE, VOCAB, Interrupted, fail, filled
from tests.polyhead.models import HEADS, LAYERS, decoder_only, encoder_decoder
from tests.polyhead.torch_twins import stirred

# ---- after an error, or an interrupt, the same call can be made again


def interrupted_after(layer: int):
    """Stops the decoder after that layer, from outside."""

    def run(decoder, **arguments):
        hook = decoder.layers[layer].register_forward_hook(fail)
        try:
            with pytest.raises(Interrupted):
                decoder(**arguments)
        finally:
            hook.remove()

    return run


def refused(name: str, value: torch.Tensor):
    """Calls the decoder with something that one of its layers refuses."""

    def run(decoder, **arguments):
        with pytest.raises((ValueError, RuntimeError)):
            decoder(**arguments | {name: value})

    return run


FAILURES = {
    "a mask of a wrong shape": refused("mask", torch.ones(2, 1, 99).bool()),
    "a memory mask of a wrong shape": refused("memory_mask", torch.ones(2, 1, 99).bool()),
    "gates of other layers": refused("head_gates", torch.ones(1, 3).double()),
    "gates of other heads": refused("cross_head_gates", torch.ones(LAYERS, 5).double()),
    "no memory": refused("memory", None),
    "another memory": refused("memory", torch.zeros(2, SOURCE, 6).double()),
    "after layer 0": interrupted_after(0),
    "after the last layer": interrupted_after(LAYERS - 1),
}


@pytest.mark.parametrize("failing", FAILURES)
@torch.no_grad()
def test_a_call_that_fails_can_be_made_again(failing):
    decoder = stirred(Decoder(LAYERS, 6, HEADS, dropout=0.0))
    x, memory = torch.randn(2, 7, 6).double(), torch.randn(2, SOURCE, 6).double()
    expected, _ = decoder(x, memory)
    cache, steps = decoder.new_cache(), []
    for start, end in ((0, 4), (4, 5), (5, 7)):
        arguments = {"x": x[:, start:end], "memory": memory, "cache": cache}
        if failing != "another memory" or start:
            for _ in range(2):
                FAILURES[failing](decoder, **arguments)
                assert {layer.self_attention.length for layer in cache.layers} == {start}
        steps.append(decoder(**arguments)[0])
        assert cache.length == end
    assert_close(torch.cat(steps, dim=1), expected, **EXACT)


@pytest.mark.parametrize("where", ["decoder.layers.0", "decoder", "output"])
@pytest.mark.parametrize("make", [decoder_only, encoder_decoder])
@torch.no_grad()
def test_an_interrupted_model_remembers_neither_tokens_nor_padding(make, where):
    model, ids = make(VOCAB), torch.randint(VOCAB, (2, 6))
    mask = torch.arange(6) >= torch.tensor([[0], [2]])
    source = torch.randint(13, (2, SOURCE))
    memory = () if make is decoder_only else (model.encode(source),)
    run = model if make is decoder_only else model.decode
    expected, cache, steps = run(ids, *memory, mask), model.new_cache(), []
    for start, end in ((0, 3), (3, 6)):
        arguments = (ids[:, start:end], *memory, mask[:, start:end])
        hook = model.get_submodule(where).register_forward_hook(fail)
        with pytest.raises(Interrupted):
            run(ids[:, start:end], *memory, torch.ones(2, 3).bool(), cache=cache)
        hook.remove()
        steps.append(run(*arguments, cache=cache))
    assert_close(torch.cat(steps, dim=1)[mask], expected[mask], **EXACT)


@torch.no_grad()
def test_what_fails_at_first_may_be_followed_by_another_batch():
    model, cache = decoder_only(VOCAB), decoder_only(VOCAB).new_cache()
    with pytest.raises(Interrupted):
        hook = model.decoder.layers[0].register_forward_hook(fail)
        model(torch.ones(3, 2).long(), cache=cache)
    hook.remove()
    ids = torch.randint(VOCAB, (2, 5))
    assert_close(model(ids, cache=cache), model(ids), **EXACT)


@torch.no_grad()
def test_selecting_rows_that_are_not_there_changes_no_layer():
    model, cache, ids = decoder_only(VOCAB), decoder_only(VOCAB).new_cache(), torch.randint(VOCAB, (2, 5))
    model(ids[:, :4], cache=cache)
    with pytest.raises(ValueError, match=r"\brows.*2, got 5"):
        cache.select(torch.tensor([0, 5]))
    assert_close(model(ids[:, 4:], cache=cache), model(ids)[:, 4:], **EXACT)


@pytest.mark.parametrize("change", ["one number", "length", "batch"])
@torch.no_grad()
def test_another_memory_than_the_cached_one_is_refused(change):
    decoder = Decoder(2, 6, 3).eval()
    x, memory, cache = torch.randn(2, 3, 6), torch.randn(2, 5, 6), decoder.new_cache()
    decoder(x[:, :2], memory, cache=cache)
    other = {"one number": memory.clone(), "length": memory[:, :3].clone(), "batch": memory[:1].clone()}[
        change
    ]
    other[0, 0, 0] += 1
    with pytest.raises(ValueError, match=r"\bmemory"):
        decoder(x[: len(other), 2:], other, cache=cache)
    after, _ = decoder(x[:, 2:], memory.clone(), cache=cache)
    assert_close(after, decoder(x, memory)[0][:, 2:])


@torch.no_grad()
def test_a_layer_alone_fills_its_own_part():
    layer = DecoderLayer(6, 3).eval()
    x, memory, cache = torch.randn(2, 5, 6), torch.randn(2, 4, 6), LayerCache(KVCache(), KVCache(fixed=True))
    steps = [layer(x[:, start : start + 1], memory, cache=cache)[0] for start in range(5)]
    assert_close(torch.cat(steps, dim=1), layer(x, memory)[0])


# ---- compiled


STEPS = """
import torch
from tests.polyhead.models import decoder_only, encoder_decoder

torch.set_grad_enabled(False)
ids, mask = torch.randint(11, (2, 5)), torch.arange(5) >= torch.tensor([[0], [2]])
alone, both = decoder_only(11), encoder_decoder(11)
memory = both.encode(torch.randint(13, (2, 7)))
for model, run, given in ((alone, alone, ()), (both, both.decode, (memory,))):
    step, cache = torch.compile(run, fullgraph=True, backend="eager"), model.new_cache()
    steps = [step(ids[:, i : i + 1], *given, mask[:, i : i + 1], cache=cache) for i in range(5)]
    torch.testing.assert_close(torch.cat(steps, dim=1)[mask], run(ids, *given, mask)[mask])
    print(cache.length)
"""


def test_a_step_with_a_cache_compiles_into_one_graph():
    """On its own: the tests' checks of shapes, on each method of the cache, do not compile."""
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", STEPS], cwd=root, capture_output=True, text=True)
    assert done.stdout.split() == ["5", "5"], done.stderr


# ---- what a cache refuses

KEY, VALUE = torch.ones(3, 2, 1, 5), torch.ones(3, 2, 1, 5)


def other_layers():
    model = decoder_only(VOCAB)
    model(torch.tensor([[1]]), cache=DecoderCache(5))


def another_batch():
    model = decoder_only(VOCAB)
    cache = model.new_cache()
    model(torch.ones(2, 3).long(), torch.tensor([[False, True, True]] * 2), cache)
    model(torch.ones(3, 1).long(), cache=cache)


BAD = {
    "new tokens of another batch": (another_batch, "the cache's batch, 2, got 3"),
    "a fixed cache's second update": (lambda: filled(fixed=True).update(KEY, VALUE), "fixed.*second"),
    "another batch": (lambda: filled().update(KEY[:1], VALUE[:1]), r"key.*\(3, 2, .*\(1, 2, 1, 5\)"),
    "other heads": (lambda: filled().update(KEY[:, :1], VALUE[:, :1]), r"key.*\(3, 2, .*\(3, 1, 1, 5\)"),
    "another size": (lambda: filled().update(KEY[..., :4], VALUE[..., :4]), r"key.*\(3, 2, 1, 4\)"),
    "another dtype": (lambda: filled().update(KEY.double(), VALUE.double()), "key.*float32.*float64"),
    "nothing to read": (lambda: KVCache().read(), "updated before it is read"),
    "rows beyond": (lambda: filled().select(torch.tensor([0, 3])), "rows.*3, got 3"),
    "rows before": (lambda: filled().select(torch.tensor([-1])), "rows.*got -1"),
    "other layers": (other_layers, "cache.*2 layers.*5"),
}


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(("call", "message"), BAD.values(), ids=BAD.keys())
@torch.no_grad()
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=rf"\b({message})"):
        call()


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("fixed", [False, True])
def test_a_refused_update_leaves_the_cache_as_it_was(fixed):
    cache = filled(3, fixed)
    before = [tensor.clone() for tensor in cache.read()]
    for key in (KEY[..., :4], KEY[:, :1], KEY[:1], KEY.double()):
        with pytest.raises(ValueError):
            cache.update(key, key)
    with pytest.raises(ValueError):
        cache.select(torch.tensor([0, 3]))
    assert_close(list(cache.read()), before, rtol=0, atol=0)


@torch.no_grad()
def test_one_compiled_layer_serves_every_length(unchecked):
    layer = DecoderLayer(6, 3, cross_attention=False).eval()
    compiled = torch.compile(layer, fullgraph=True, backend="eager")
    for length in (4, 2, 7, 1):
        x = torch.randn(2, length, 6)
        assert_close(compiled(x)[0], layer(x)[0])
