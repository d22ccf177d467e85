from __future__ import annotations

import copy

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from polyhead import KVCache
from tests.polyhead.caches import BATCH, EXACT, HEAD_DIM, KV_HEADS, SOURCE, VOCAB, Copied, add, filled, pair
from tests.polyhead.models import LAYERS, decoder_only, encoder_decoder

# ---- keys and values


@given(st.lists(st.integers(0, 40), min_size=1, max_size=6), st.booleans())
def test_it_gives_all_keys_and_values_so_far(sizes, fixed):
    pairs = [pair(size) for size in sizes[: 1 if fixed else None]]
    cache = KVCache(fixed)
    for number, new in enumerate(pairs, start=1):
        expected = [torch.cat(parts, dim=2) for parts in zip(*pairs[:number], strict=True)]
        for got in (add(cache, new), cache.read()):
            assert_close(list(got), expected, rtol=0, atol=0)
        assert cache.length == sum(sizes[:number])


def test_200_tokens_are_moved_a_few_times_and_not_once_each():
    cache, places, new = KVCache(), set(), pair(1)
    with Copied() as count:
        for _ in range(200):
            keys, values = add(cache, new)
            places |= {keys.data_ptr(), values.data_ptr()}
            assert keys.untyped_storage().data_ptr() == keys.data_ptr()
    token = 2 * BATCH * KV_HEADS * HEAD_DIM
    assert len(places) <= 2 * 5  # room for 16, 32, 64, 128, 256 tokens
    assert count.copied == token * (200 + 16 + 32 + 64 + 128)
    assert count.allocated == token * (16 + 32 + 64 + 128 + 256)


def test_a_fixed_cache_takes_no_room_that_it_will_not_use():
    keys, _ = filled(3, fixed=True).read()
    assert keys.untyped_storage().nbytes() == keys.numel() * keys.element_size()


def test_what_was_read_earlier_stays_as_it_was():
    cache, earlier = KVCache(), []
    for _ in range(40):
        views = add(cache, pair(1))
        earlier.append((views, [view.clone() for view in views]))
    cache.select(torch.tensor([2, 0]))
    add(cache, pair(3, batch=2))
    for views, as_they_were in earlier:
        assert_close(list(views), as_they_were, rtol=0, atol=0)


def test_it_keeps_its_own_numbers():
    cache, (key, value) = KVCache(), pair(3)
    expected = key.clone(), value.clone()
    add(cache, (key, value))
    key.zero_(), value.zero_()
    assert_close(cache.read(), expected, rtol=0, atol=0)


def test_complete_means_fixed_and_filled():
    assert [KVCache().complete, KVCache(fixed=True).complete] == [False, False]
    assert [filled().complete, filled(fixed=True).complete] == [False, True]


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.int8], ids=str)
@pytest.mark.parametrize("fixed", [False, True])
def test_select_takes_rows_in_any_order_and_number(fixed, dtype):
    cache = filled(3, fixed)
    keys, values = (tensor.clone() for tensor in cache.read())
    rows = [2, 0, 0, 1, 2]
    cache.select(torch.tensor(rows, dtype=dtype))
    assert_close(cache.read(), (keys[rows], values[rows]), rtol=0, atol=0)
    assert cache.length == 3
    if not fixed:
        more = pair(17, batch=5)
        assert_close(add(cache, more)[1], torch.cat((values[rows], more[1]), dim=2), rtol=0, atol=0)


def test_select_leaves_an_empty_cache_empty():
    cache = KVCache()
    cache.select(torch.tensor([5]))
    assert cache.length == 0
    add(cache, pair(2))
    assert cache.length == 2


def test_gradients_are_refused_only_where_they_would_be_lost():
    key, value = (tensor.requires_grad_() for tensor in pair(2))
    cache = KVCache()
    for new in ((key, value), (key, value.detach()), (key.detach(), value)):
        with pytest.raises(ValueError, match=r"\bmust need no gradient.*torch\.no_grad"):
            cache.update(*new)
    assert cache.length == 0
    add(cache, (key.detach(), value.detach()))
    with torch.no_grad():
        add(cache, (key, value))
    assert cache.length == 4
    with pytest.raises(ValueError, match=r"\bcall the model under torch\.no_grad"):
        model = decoder_only(VOCAB)
        model(torch.tensor([[1]]), cache=model.new_cache())


# ---- a decoder with a cache


@st.composite
def chunks(draw, before: int = 0):
    """Sizes of chunks, and which tokens are padding: none, or on the left, the right, or anywhere."""
    sizes = draw(st.lists(st.integers(1, 6), min_size=1, max_size=5))
    total = sum(sizes)
    sides = draw(
        st.lists(st.sampled_from(["none", "left", "right", "anywhere"]), min_size=BATCH, max_size=BATCH)
    )
    mask = torch.ones(BATCH, total, dtype=torch.bool)
    for row, side in enumerate(sides):
        count = draw(st.integers(0, total - 1))
        if side == "left":
            mask[row, :count] = False
        elif side == "right":  # of the first chunk, as a prompt's; what is generated follows
            mask[row, sizes[0] - min(count, sizes[0] - 1) : sizes[0]] = False
        elif side == "anywhere":
            mask[row] = torch.tensor(draw(st.lists(st.booleans(), min_size=total, max_size=total)))
    return sizes, mask


def run_in_chunks(call, cache, ids, sizes, mask):
    """The logits chunk by chunk; a mask that hides nothing is left out."""
    parts, start = [], 0
    for size in sizes:
        end = start + size
        part = mask[:, start:end]
        parts.append(call(ids[:, start:end], None if part.all() else part, cache))
        start = end
        assert cache.length == end
    return torch.cat(parts, dim=1)


@pytest.mark.parametrize("norm_first", [False, True])
@given(drawn=chunks())
@torch.no_grad()
def test_decoder_only_with_cache_is_without(norm_first, drawn):
    sizes, mask = drawn
    model = decoder_only(VOCAB, norm_first=norm_first)
    ids = torch.randint(VOCAB, mask.shape)
    cached = run_in_chunks(model, model.new_cache(), ids, sizes, mask)
    assert_close(cached[mask], model(ids, mask)[mask], **EXACT)
    for row, own in enumerate(mask):  # and as if there were no padding at all
        if own.any():
            assert_close(cached[row, own], model(ids[row, own][None])[0], **EXACT)


@given(drawn=chunks(), source_lens=st.lists(st.integers(1, SOURCE), min_size=BATCH, max_size=BATCH))
@torch.no_grad()
def test_encoder_decoder_with_cache_is_without(drawn, source_lens):
    sizes, mask = drawn
    model = encoder_decoder(VOCAB)
    ids, source = torch.randint(VOCAB, mask.shape), torch.randint(13, (BATCH, SOURCE))
    source_mask = torch.arange(SOURCE) < torch.tensor(source_lens)[:, None]
    memory = model.encode(source, source_mask)

    def call(new, new_mask, cache):
        return model.decode(new, memory, new_mask, source_mask, cache)

    cached = run_in_chunks(call, model.new_cache(), ids, sizes, mask)
    assert_close(cached[mask], model(source, ids, source_mask, mask)[mask], **EXACT)
    for row, own in enumerate(mask):
        if own.any():
            alone = model(source[row, : source_lens[row]][None], ids[row, own][None])[0]
            assert_close(cached[row, own], alone, **EXACT)


@torch.no_grad()
def test_the_memory_is_projected_once(monkeypatch):
    model, ids = encoder_decoder(VOCAB), torch.randint(VOCAB, (BATCH, 5))
    memory = model.encode(torch.randint(13, (BATCH, SOURCE)))
    expected = model.decode(ids, memory)
    projections = []
    linear = F.linear

    def counting(x, *arguments):
        projections.append(tuple(x.shape[:2]))
        return linear(x, *arguments)

    monkeypatch.setattr(F, "linear", counting)
    cache = model.new_cache()
    steps = [model.decode(ids[:, :1], memory, cache=cache)]
    assert projections.count((BATCH, SOURCE)) == 2 * LAYERS  # a key and a value of each layer
    projections.clear()
    steps += [model.decode(ids[:, i : i + 1], memory.clone(), cache=cache) for i in range(1, 5)]
    assert (BATCH, SOURCE) not in projections
    assert_close(torch.cat(steps, dim=1), expected, **EXACT)
    assert {layer.cross_attention.length for layer in cache.layers} == {SOURCE}


@torch.no_grad()
def test_select_reorders_all_layers_and_the_padding():
    model, source = encoder_decoder(VOCAB), torch.randint(13, (BATCH, SOURCE))
    ids = torch.randint(VOCAB, (BATCH, 7))
    mask = torch.arange(7) >= torch.tensor([0, 2, 4])[:, None]
    memory, cache = model.encode(source), model.new_cache()
    model.decode(ids[:, :6], memory, mask[:, :6], cache=cache)
    rows = torch.tensor([2, 0, 2, 1], dtype=torch.int32)
    cache.select(rows)
    got = model.decode(ids[rows, 6:], memory[rows], cache=cache)
    assert_close(got, model(source, ids, None, mask)[rows, 6:], **EXACT)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_a_copy_goes_its_own_way(copied):
    model, tokens = decoder_only(VOCAB), torch.randint(0, VOCAB, (BATCH, 5))
    with torch.no_grad():
        cache = model.new_cache()
        model(tokens[:, :3], cache=cache)
        other = copied(cache)
        first, second = torch.arange(2 * len(tokens)).view(2, -1, 1) % VOCAB
        model(first, cache=cache), model(second, cache=other)
        for branch, token in ((cache, first), (other, second)):
            whole = torch.cat((tokens[:, :3], token, tokens[:, 3:]), dim=1)
            assert_close(model(tokens[:, 3:], cache=branch), model(whole)[:, 4:], **EXACT)
    one = filled()
    two, (keys, _) = copied(one), one.read()
    add(one, pair(1)), add(two, pair(1))
    assert torch.equal(one.read()[0][:, :, :3], keys) and not torch.equal(one.read()[0], two.read()[0])


@pytest.mark.parametrize("select", [False, True])
def test_a_cache_made_in_inference_mode_goes_on_without_it(select):
    model, tokens = decoder_only(VOCAB), torch.randint(0, VOCAB, (BATCH, 5))
    cache = model.new_cache()
    with torch.inference_mode():
        model(tokens[:, :3], cache=cache)
        if select:
            cache.select(torch.arange(len(tokens)))
    with torch.no_grad():
        found = [model(tokens[:, i : i + 1], cache=cache) for i in (3, 4)]
        assert_close(torch.cat(found, dim=1), model(tokens)[:, 3:], **EXACT)
