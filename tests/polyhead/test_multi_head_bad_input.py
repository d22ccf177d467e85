# ruff: noqa: E501  in the tables, each case is one line
from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from polyhead import (
    AnnotatedMultiHeadAttention,
    LoopedMultiHeadAttention,
    MultiHeadAttention,
    SplitMultiHeadAttention,
    TransposedMultiHeadAttention,
    transpose_output,
    transpose_qkv,
)
from tests.polyhead.bad_input import assert_named, bad

NAN, INF = math.nan, math.inf
X, MEMORY = torch.ones(2, 3, 6), torch.ones(2, 5, 6)
EVERYONE = torch.ones(3, 5, dtype=torch.bool)


def nan_at(tensor: torch.Tensor, what: float = NAN) -> torch.Tensor:
    changed = tensor.clone()
    changed[1, 2, 3] = what
    return changed


def make(cls, *arguments, **options):
    return lambda: cls(*arguments, **options)


def sizes(cls, name: str, heads: str, *, swapped: bool = False, rest: tuple = ()):
    """What every class says of a bad embed_dim or num_heads."""

    def with_sizes(embed_dim, num_heads):
        return make(cls, *((num_heads, embed_dim) if swapped else (embed_dim, num_heads)), *rest)

    return [
        bad(f"{cls.__name__}, {name} float", with_sizes(6.0, 3), TypeError, f"{name} must be an int", "float 6.0"),
        bad(f"{cls.__name__}, {name} bool", with_sizes(True, 1), TypeError, f"{name} must be an int", "bool True"),
        bad(f"{cls.__name__}, {name} string", with_sizes("6", 3), TypeError, f"{name} must be an int", "str '6'"),
        bad(f"{cls.__name__}, {name} None", with_sizes(None, 3), TypeError, f"{name} must be an int", "NoneType"),
        bad(f"{cls.__name__}, {name} a tensor", with_sizes(torch.tensor(6), 3), TypeError, f"{name} must be an int", "Tensor"),
        bad(f"{cls.__name__}, {name} 0", with_sizes(0, 3), ValueError, f"{name} must be at least 1", "0"),
        bad(f"{cls.__name__}, {name} negative", with_sizes(-6, 3), ValueError, f"{name} must be at least 1", "-6"),
        bad(f"{cls.__name__}, {heads} float", with_sizes(6, 3.0), TypeError, f"{heads} must be an int", "float 3.0"),
        bad(f"{cls.__name__}, {heads} bool", with_sizes(6, True), TypeError, f"{heads} must be an int", "bool True"),
        bad(f"{cls.__name__}, {heads} None", with_sizes(6, None), TypeError, f"{heads} must be an int", "NoneType"),
        bad(f"{cls.__name__}, {heads} NaN", with_sizes(6, NAN), TypeError, f"{heads} must be an int", "float nan"),
        bad(f"{cls.__name__}, {heads} 0", with_sizes(6, 0), ValueError, f"{heads} must be at least 1", "0"),
        bad(f"{cls.__name__}, {heads} negative", with_sizes(6, -3), ValueError, f"{heads} must be at least 1", "-3"),
        bad(f"{cls.__name__}, {heads} that do not divide", with_sizes(6, 4), ValueError, f"{heads} must divide {name} = 6", "4"),
        bad(f"{cls.__name__}, more {heads} than {name}", with_sizes(6, 12), ValueError, f"{heads} must divide {name} = 6", "12"),
    ]  # fmt: skip


def dropouts(cls, *first):
    return [
        bad(f"{cls.__name__}, dropout negative", make(cls, *first, dropout=-0.1), ValueError, "dropout must lie between 0 and 1", "-0.1"),
        bad(f"{cls.__name__}, dropout above 1", make(cls, *first, dropout=2), ValueError, "dropout must lie between 0 and 1", "2"),
        bad(f"{cls.__name__}, dropout NaN", make(cls, *first, dropout=NAN), ValueError, "dropout must lie between 0 and 1", "nan"),
        bad(f"{cls.__name__}, dropout bool", make(cls, *first, dropout=True), TypeError, "dropout must be a number from 0 to 1", "bool True"),
        bad(f"{cls.__name__}, dropout string", make(cls, *first, dropout="0.1"), TypeError, "dropout must be a number from 0 to 1", "str '0.1'"),
        bad(f"{cls.__name__}, dropout None", make(cls, *first, dropout=None), TypeError, "dropout must be a number from 0 to 1", "NoneType"),
    ]  # fmt: skip


def biases(cls, *first):
    return [
        bad(f"{cls.__name__}, bias int", make(cls, *first, bias=1), TypeError, "bias must be True or False", "int 1"),
        bad(f"{cls.__name__}, bias string", make(cls, *first, bias="no"), TypeError, "bias must be True or False", "str 'no'"),
        bad(f"{cls.__name__}, bias None", make(cls, *first, bias=None), TypeError, "bias must be True or False", "NoneType"),
    ]  # fmt: skip


def three(cls, call, names=("query", "key", "value")):
    """What every class that takes query, key and value says of them."""
    q, k, v = names
    shaped = "shape (batch, num_tokens, embed_dim = 6)"
    return [
        bad(f"{cls}, query list", call([[1.0]], MEMORY, MEMORY), TypeError, f"{q} must be a torch.Tensor", "list"),
        bad(f"{cls}, query None", call(None, MEMORY, MEMORY), TypeError, f"{q} must be a torch.Tensor", "NoneType"),
        bad(f"{cls}, query array", call(X.numpy(), MEMORY, MEMORY), TypeError, f"{q} must be a torch.Tensor", "ndarray"),
        bad(f"{cls}, query int", call(X.long(), MEMORY, MEMORY), TypeError, "floating dtype", "torch.int64"),
        bad(f"{cls}, query bool", call(X.bool(), MEMORY, MEMORY), TypeError, "floating dtype", "torch.bool"),
        bad(f"{cls}, query complex", call(X.to(torch.complex64), MEMORY, MEMORY), TypeError, "floating dtype", "torch.complex64"),
        bad(f"{cls}, query sparse", call(X.to_sparse(), MEMORY, MEMORY), TypeError, "dense tensor", "torch.sparse_coo"),
        bad(f"{cls}, query double", call(X.double(), MEMORY, MEMORY), TypeError, f"{q} must have the dtype of the projections, torch.float32", "torch.float64"),
        bad(f"{cls}, query half", call(X.half(), MEMORY, MEMORY), TypeError, f"{q} must have the dtype of the projections, torch.float32", "torch.float16"),
        bad(f"{cls}, query elsewhere", call(X.to("meta"), MEMORY, MEMORY), ValueError, f"{q} must be on the device of the projections, cpu", "meta"),
        bad(f"{cls}, query rank 1", call(torch.ones(6), MEMORY, MEMORY), ValueError, "at least 2 dimensions", "(6,)"),
        bad(f"{cls}, query rank 2", call(X[0], MEMORY, MEMORY), ValueError, f"{q} must have {shaped}", "(3, 6)"),
        bad(f"{cls}, query rank 4", call(X[None], MEMORY, MEMORY), ValueError, f"{q} must have {shaped}", "(1, 2, 3, 6)"),
        bad(f"{cls}, query too narrow", call(X[..., :5], MEMORY, MEMORY), ValueError, f"{q} must have {shaped}", "(2, 3, 5)"),
        bad(f"{cls}, query without numbers", call(X[..., :0], MEMORY, MEMORY), ValueError, f"{q} must have {shaped}", "(2, 3, 0)"),
        bad(f"{cls}, key string", call(X, "k", MEMORY), TypeError, f"{k} must be a torch.Tensor", "str"),
        bad(f"{cls}, key half", call(X, MEMORY.half(), MEMORY), TypeError, f"{k} must have the dtype of the projections", "torch.float16"),
        bad(f"{cls}, key elsewhere", call(X, MEMORY.to("meta"), MEMORY), ValueError, f"{k} must be on the device of the projections, cpu", "meta"),
        bad(f"{cls}, key too wide", call(X, torch.ones(2, 5, 7), MEMORY), ValueError, f"{k} must have {shaped}", "(2, 5, 7)"),
        bad(f"{cls}, key of another batch", call(X, torch.ones(3, 5, 6), torch.ones(3, 5, 6)), ValueError, f"{k} must have the batch of {q}, 2", "3"),
        bad(f"{cls}, key of a batch of one", call(X, MEMORY[:1], MEMORY), ValueError, f"{k} must have the batch of {q}, 2", "1"),
        bad(f"{cls}, value number", call(X, MEMORY, 1.0), TypeError, f"{v} must be a torch.Tensor", "float"),
        bad(f"{cls}, value too narrow", call(X, MEMORY, torch.ones(2, 5, 3)), ValueError, f"{v} must have {shaped}", "(2, 5, 3)"),
        bad(f"{cls}, value for fewer keys", call(X, MEMORY, X), ValueError, f"{v} must have one row for each of {k}, 5", "3"),
        bad(f"{cls}, value of another batch", call(X, MEMORY, MEMORY[:1]), ValueError, f"{v} must have the batch of {q}, 2", "1"),
        bad(f"{cls}, query NaN", call(nan_at(X), MEMORY, MEMORY), ValueError, "query must be finite", "nan"),
        bad(f"{cls}, key inf", call(X, nan_at(MEMORY, INF), MEMORY), ValueError, "key must be finite", "at index"),
        bad(f"{cls}, value -inf", call(X, MEMORY, nan_at(MEMORY, -INF)), ValueError, "value must be finite", "at index"),
    ]  # fmt: skip


def masked(cls, call, target="(2, 3, 3, 5)"):
    """What every class that takes a mask says of it; `call` takes the mask."""
    return [
        bad(f"{cls}, mask float", call(EVERYONE.float()), TypeError, "torch.bool (True = may attend)", "torch.float32"),
        bad(f"{cls}, mask int", call(EVERYONE.int()), TypeError, "torch.bool (True = may attend)", "torch.int32"),
        bad(f"{cls}, mask list", call([[True]]), TypeError, "boolean torch.Tensor (True = may attend)", "list"),
        bad(f"{cls}, mask bool", call(True), TypeError, "boolean torch.Tensor (True = may attend)", "bool"),
        bad(f"{cls}, mask array", call(np.ones((3, 5), dtype=bool)), TypeError, "boolean torch.Tensor", "ndarray"),
        bad(f"{cls}, mask string", call("causal"), TypeError, "boolean torch.Tensor", "str"),
        bad(f"{cls}, mask too wide", call(torch.ones(3, 7).bool()), ValueError, f"= {target}", "(3, 7)"),
        bad(f"{cls}, mask transposed", call(torch.ones(5, 4).bool()), ValueError, f"= {target}", "(5, 4)"),
        bad(f"{cls}, mask of another batch", call(torch.ones(4, 1, 1).bool()), ValueError, f"= {target}", "(4, 1, 1)"),
        bad(f"{cls}, mask for other heads", call(torch.ones(2, 2, 1, 1).bool()), ValueError, f"= {target}", "(2, 2, 1, 1)"),
        bad(f"{cls}, mask of five dimensions", call(torch.ones(1, 1, 1, 1, 1).bool()), ValueError, f"= {target}", "(1, 1, 1, 1, 1)"),
        bad(f"{cls}, mask elsewhere", call(EVERYONE.to("meta")), ValueError, "device of the scores, cpu", "meta"),
    ]  # fmt: skip


def looped(*arguments, **options):
    return lambda: LoopedMultiHeadAttention(6, 3)(*arguments, **options)


def annotated(*arguments, **options):
    return lambda: AnnotatedMultiHeadAttention(3, 6)(*arguments, **options)


def transposed(*arguments, **options):
    return lambda: TransposedMultiHeadAttention(6, 3, 0.0)(*arguments, **options)


def split(*arguments, **options):
    return lambda: SplitMultiHeadAttention(6, 3)(*arguments, **options)


def fused(*arguments, **options):
    return lambda: MultiHeadAttention(6, 3)(*arguments, **options)


def lens(valid_lens):
    return transposed(X, MEMORY, MEMORY, valid_lens)


def gates(head_gates):
    return fused(X, head_gates=head_gates)


SHAPE_OF_X = "x must have shape (batch, num_tokens, embed_dim = 6)"
SHAPE_OF_LENS = "valid_lens must have shape (batch,) = (2,) or (batch, num_queries) = (2, 3)"
SHAPE_OF_GATES = "head_gates must have shape (num_heads,) = (3,) or (batch, num_heads) = (2, 3)"
BAD = [
    *sizes(LoopedMultiHeadAttention, "embed_dim", "num_heads"),
    *sizes(SplitMultiHeadAttention, "embed_dim", "num_heads"),
    *sizes(MultiHeadAttention, "embed_dim", "num_heads"),
    *sizes(TransposedMultiHeadAttention, "num_hiddens", "num_heads", rest=(0.0,)),
    *sizes(AnnotatedMultiHeadAttention, "d_model", "h", swapped=True),
    *dropouts(AnnotatedMultiHeadAttention, 3, 6),
    *dropouts(TransposedMultiHeadAttention, 6, 3),
    *dropouts(MultiHeadAttention, 6, 3),
    *biases(LoopedMultiHeadAttention, 6, 3),
    *biases(TransposedMultiHeadAttention, 6, 3, 0.0),
    *biases(MultiHeadAttention, 6, 3),
    *three("looped", looped),
    *three("annotated", annotated),
    *three("transposed", transposed, ("queries", "keys", "values")),
    *three("fused", fused),
    *masked("looped", lambda mask: looped(X, MEMORY, MEMORY, mask)),
    *masked("annotated", lambda mask: annotated(X, MEMORY, MEMORY, mask)),
    *masked("fused", lambda mask: fused(X, MEMORY, MEMORY, mask)),
    *masked("fused with weights", lambda mask: fused(X, MEMORY, MEMORY, mask, need_weights=True)),
    *masked("split", lambda mask: split(MEMORY, mask), "(2, 3, 5, 5)"),
    bad("split, x list", split([1.0]), TypeError, "x must be a torch.Tensor", "list"),
    bad("split, x None", split(None), TypeError, "x must be a torch.Tensor", "NoneType"),
    bad("split, x int", split(X.long()), TypeError, "floating dtype", "torch.int64"),
    bad("split, x double", split(X.double()), TypeError, "x must have the dtype of the projections", "torch.float64"),
    bad("split, x elsewhere", split(X.to("meta")), ValueError, "x must be on the device of the projections, cpu", "meta"),
    bad("split, x rank 2", split(X[0]), ValueError, SHAPE_OF_X, "(3, 6)"),
    bad("split, x too wide", split(torch.ones(2, 3, 12)), ValueError, SHAPE_OF_X, "(2, 3, 12)"),
    bad("split, x NaN", split(nan_at(X)), ValueError, "must be finite", "nan"),
    bad("split, x inf that is seen", split(nan_at(X, INF), torch.eye(3).bool()), ValueError, "must be finite", "at index"),
    bad("transposed, dropout missing", make(TransposedMultiHeadAttention, 6, 3), TypeError, "missing 1 required positional argument", "dropout"),
    bad("lens list", lens([3, 5]), TypeError, "valid_lens must be a torch.Tensor of integers", "list"),
    bad("lens float", lens(torch.tensor([3.0, 5.0])), TypeError, "valid_lens must have an integer dtype", "torch.float32"),
    bad("lens a mask", lens(EVERYONE), TypeError, "valid_lens must have an integer dtype", "torch.bool"),
    bad("lens rank 0", lens(torch.tensor(3)), ValueError, "(batch,) or (batch, num_queries)", "()"),
    bad("lens rank 3", lens(torch.ones(2, 3, 5).long()), ValueError, "(batch,) or (batch, num_queries)", "(2, 3, 5)"),
    bad("lens too long", lens(torch.tensor([3, 6])), ValueError, "between 0 and num_keys = 5", "6"),
    bad("lens negative", lens(torch.tensor([-1, 5])), ValueError, "between 0 and num_keys = 5", "-1"),
    bad("lens of another batch", lens(torch.tensor([3, 5, 1])), ValueError, SHAPE_OF_LENS, "(3,)"),
    bad("lens of a batch of one", lens(torch.tensor([3])), ValueError, SHAPE_OF_LENS, "(1,)"),
    bad("lens for one query", lens(torch.tensor([[3], [5]])), ValueError, SHAPE_OF_LENS, "(2, 1)"),
    bad("lens for each key", lens(torch.ones(2, 5).long()), ValueError, SHAPE_OF_LENS, "(2, 5)"),
    bad("lens of the folded batch", lens(torch.ones(6).long()), ValueError, SHAPE_OF_LENS, "(6,)"),
    bad("lens elsewhere", lens(torch.tensor([3, 5]).to("meta")), ValueError, "valid_lens must be on the device of queries, cpu", "meta"),
    bad("split heads, X list", lambda: transpose_qkv([1.0], 3), TypeError, "X must be a torch.Tensor", "list"),
    bad("split heads, X int", lambda: transpose_qkv(X.long(), 3), TypeError, "floating dtype", "torch.int64"),
    bad("split heads, X rank 2", lambda: transpose_qkv(X[0], 3), ValueError, "X must have 3 dimensions", "(3, 6)"),
    bad("split heads, X rank 4", lambda: transpose_qkv(X[None], 3), ValueError, "X must have 3 dimensions", "(1, 2, 3, 6)"),
    bad("split heads, heads that do not divide", lambda: transpose_qkv(X, 4), ValueError, "num_heads must divide X.shape[2] = 6", "4"),
    bad("split heads, heads 0", lambda: transpose_qkv(X, 0), ValueError, "num_heads must be at least 1", "0"),
    bad("split heads, heads float", lambda: transpose_qkv(X, 3.0), TypeError, "num_heads must be an int", "float 3.0"),
    bad("split heads, heads bool", lambda: transpose_qkv(X, True), TypeError, "num_heads must be an int", "bool True"),
    bad("join heads, X None", lambda: transpose_output(None, 3), TypeError, "X must be a torch.Tensor", "NoneType"),
    bad("join heads, X bool", lambda: transpose_output(X.bool(), 2), TypeError, "floating dtype", "torch.bool"),
    bad("join heads, X rank 4", lambda: transpose_output(X[None], 1), ValueError, "X must have 3 dimensions", "(1, 2, 3, 6)"),
    bad("join heads, heads that do not divide", lambda: transpose_output(X, 4), ValueError, "num_heads must divide X.shape[0] = 2", "4"),
    bad("join heads, heads negative", lambda: transpose_output(X, -2), ValueError, "num_heads must be at least 1", "-2"),
    bad("join heads, heads string", lambda: transpose_output(X, "2"), TypeError, "num_heads must be an int", "str '2'"),
    bad("num_kv_heads float", make(MultiHeadAttention, 6, 3, 1.0), TypeError, "num_kv_heads must be an int", "float 1.0"),
    bad("num_kv_heads bool", make(MultiHeadAttention, 6, 3, True), TypeError, "num_kv_heads must be an int", "bool True"),
    bad("num_kv_heads 0", make(MultiHeadAttention, 6, 3, 0), ValueError, "num_kv_heads must be at least 1", "0"),
    bad("num_kv_heads that do not divide", make(MultiHeadAttention, 6, 3, 2), ValueError, "num_kv_heads must divide num_heads = 3", "2"),
    bad("more num_kv_heads than heads", make(MultiHeadAttention, 6, 3, 6), ValueError, "num_kv_heads must divide num_heads = 3", "6"),
    bad("is_causal int", fused(X, is_causal=1), TypeError, "is_causal must be True or False", "int 1"),
    bad("is_causal None", fused(X, is_causal=None), TypeError, "is_causal must be True or False", "NoneType"),
    bad("is_causal a mask", fused(X, is_causal=EVERYONE), TypeError, "is_causal must be True or False", "Tensor"),
    bad("is_causal with fewer keys", fused(MEMORY, X, is_causal=True), ValueError, "num_keys must be at least num_queries = 5", "3"),
    bad("is_causal with fewer keys and a mask", fused(MEMORY, X, mask=torch.ones(5, 3).bool(), is_causal=True), ValueError, "num_keys must be at least num_queries = 5", "3"),
    bad("need_weights string", fused(X, need_weights="yes"), TypeError, "need_weights must be True or False", "str 'yes'"),
    bad("cache a list", fused(X, cache=[]), TypeError, "cache must be a KVCache, or have update, read and complete", "list"),
    bad("cache True", fused(X, cache=True), TypeError, "cache must be a KVCache, or have update, read and complete", "bool"),
    bad("value alone is named", fused(X, X, nan_at(X)), ValueError, "value must be finite", "nan at index (1, 2, 3)"),
    bad("one NaN that one query sees", fused(X, nan_at(X), mask=torch.eye(3).bool()), ValueError, "key must be finite where the mask lets it be seen", "nan"),
    bad("gates list", gates([1.0, 1.0, 1.0]), TypeError, "head_gates must be a torch.Tensor", "list"),
    bad("gates number", gates(1.0), TypeError, "head_gates must be a torch.Tensor", "float"),
    bad("gates int", gates(torch.ones(3).long()), TypeError, "head_gates must have a floating dtype", "torch.int64"),
    bad("gates bool", gates(torch.ones(3).bool()), TypeError, "head_gates must have a floating dtype", "torch.bool"),
    bad("gates double", gates(torch.ones(3).double()), TypeError, "head_gates must have the dtype of query, torch.float32", "torch.float64"),
    bad("gates elsewhere", gates(torch.ones(3).to("meta")), ValueError, "head_gates must be on the device of query, cpu", "meta"),
    bad("gates rank 0", gates(torch.tensor(1.0)), ValueError, "head_gates must have at least 1 dimensions", "()"),
    bad("gates of other heads", gates(torch.ones(2)), ValueError, SHAPE_OF_GATES, "(2,)"),
    bad("gates of one head", gates(torch.ones(1)), ValueError, SHAPE_OF_GATES, "(1,)"),
    bad("gates transposed", gates(torch.ones(3, 2)), ValueError, SHAPE_OF_GATES, "(3, 2)"),
    bad("gates of a batch of one", gates(torch.ones(1, 3)), ValueError, SHAPE_OF_GATES, "(1, 3)"),
    bad("gates for each query", gates(torch.ones(2, 3, 3)), ValueError, SHAPE_OF_GATES, "(2, 3, 3)"),
    bad("gates NaN", gates(torch.tensor([1.0, NAN, 1.0])), ValueError, "head_gates must be finite", "nan at index (1,)"),
    bad("gates inf", gates(torch.tensor([1.0, 1.0, INF])), ValueError, "head_gates must be finite", "inf at index (2,)"),
]  # fmt: skip


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(("call", "error", "message"), BAD)
def test_bad_input(call, error, message):
    assert_named(call, error, message)
