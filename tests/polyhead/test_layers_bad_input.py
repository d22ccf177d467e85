# ruff: noqa: E501  in the tables, each case is one line
from __future__ import annotations

import math

import pytest
import torch

from polyhead import (
    Decoder,
    DecoderLayer,
    DecoderOnly,
    Encoder,
    EncoderDecoder,
    EncoderLayer,
    EncoderOnly,
    FeedForward,
    LearnedPositions,
    Residual,
    RotaryPositions,
    SinusoidalPositions,
    TokenEmbedding,
    Transformer,
)
from tests.polyhead.bad_input import assert_named, bad

NAN, INF = math.nan, math.inf
X, MEMORY, IDS, MEMORY_IDS = (
    torch.ones(2, 3, 6),
    torch.ones(2, 5, 6),
    torch.ones(2, 3).long(),
    torch.ones(2, 5).long(),
)
EVERYONE = torch.ones(2, 3).bool()
SHAPE_OF_X = "shape (batch, num_tokens, embed_dim = 6)"


def make(cls, *arguments, **options):
    return lambda: cls(*arguments, **options)


def call(cls, *sizes, **options):
    """A function that makes the module anew, and calls it with what it is given."""
    return lambda *arguments, **named: lambda: cls(*sizes, **options)(*arguments, **named)


def embedding(**options):
    return TokenEmbedding(7, 6, SinusoidalPositions(6), **options)


def transformer(**options):
    return Transformer(7, embed_dim=6, num_heads=3, num_encoder_layers=2, num_decoder_layers=2, **options)


def nan_at(tensor: torch.Tensor, what: float = NAN) -> torch.Tensor:
    changed = tensor.clone()
    changed[1, 2, 3] = what
    return changed


def counts(title, name, made, minimum=1):
    """What is said of a size that is no int, or too small."""
    return [
        bad(f"{title}, {name} float", lambda: made(6.0), TypeError, f"{name} must be an int", "float 6.0"),
        bad(f"{title}, {name} bool", lambda: made(True), TypeError, f"{name} must be an int", "bool True"),
        bad(f"{title}, {name} string", lambda: made("6"), TypeError, f"{name} must be an int", "str '6'"),
        bad(f"{title}, {name} a tensor", lambda: made(torch.tensor(6)), TypeError, f"{name} must be an int", "Tensor"),
        bad(f"{title}, {name} too small", lambda: made(minimum - 1), ValueError, f"{name} must be at least {minimum}", str(minimum - 1)),
        bad(f"{title}, {name} negative", lambda: made(-6), ValueError, f"{name} must be at least {minimum}", "-6"),
    ]  # fmt: skip


def positives(title, name, made):
    return [
        bad(f"{title}, {name} 0", lambda: made(0), ValueError, f"{name} must be a finite number above 0", "0"),
        bad(f"{title}, {name} negative", lambda: made(-1e-5), ValueError, f"{name} must be a finite number above 0", "-1e-05"),
        bad(f"{title}, {name} NaN", lambda: made(NAN), ValueError, f"{name} must be a finite number above 0", "nan"),
        bad(f"{title}, {name} inf", lambda: made(INF), ValueError, f"{name} must be a finite number above 0", "inf"),
        bad(f"{title}, {name} string", lambda: made("1"), TypeError, f"{name} must be a number above 0", "str '1'"),
        bad(f"{title}, {name} bool", lambda: made(True), TypeError, f"{name} must be a number above 0", "bool True"),
    ]  # fmt: skip


def dropouts(title, made):
    return [
        bad(f"{title}, dropout negative", lambda: made(-0.1), ValueError, "dropout must lie between 0 and 1", "-0.1"),
        bad(f"{title}, dropout above 1", lambda: made(2), ValueError, "dropout must lie between 0 and 1", "2"),
        bad(f"{title}, dropout NaN", lambda: made(NAN), ValueError, "dropout must lie between 0 and 1", "nan"),
        bad(f"{title}, dropout None", lambda: made(None), TypeError, "dropout must be a number from 0 to 1", "NoneType"),
        bad(f"{title}, dropout bool", lambda: made(True), TypeError, "dropout must be a number from 0 to 1", "bool True"),
    ]  # fmt: skip


def flags(title, name, made):
    return [
        bad(f"{title}, {name} int", lambda: made(1), TypeError, f"{name} must be True or False", "int 1"),
        bad(f"{title}, {name} string", lambda: made("no"), TypeError, f"{name} must be True or False", "str 'no'"),
        bad(f"{title}, {name} None", lambda: made(None), TypeError, f"{name} must be True or False", "NoneType"),
    ]  # fmt: skip


def activations(title, made):
    known = 'activation must be one of "relu", "gelu", "gelu_tanh", "silu"'
    return [
        bad(f"{title}, activation unknown", lambda: made("swish"), ValueError, known, "'swish'"),
        bad(f"{title}, activation None", lambda: made(None), ValueError, known, "None"),
        bad(f"{title}, activation a function", lambda: made(torch.relu), ValueError, known, "relu"),
        bad(f"{title}, activation a list", lambda: made(["relu"]), ValueError, known, "['relu']"),
    ]  # fmt: skip


def layers(cls, *before, least_size=1):
    """What all that make layers say of the layers' options."""

    def option(name):
        return lambda value: cls(*before, 6, 3, **{name: value})

    title = cls.__name__
    return [
        *counts(title, "embed_dim", lambda size: cls(*before, size, 3), least_size),
        *counts(title, "num_heads", lambda size: cls(*before, 6, size)),
        *counts(title, "ffn_dim", option("ffn_dim")),
        *dropouts(title, option("dropout")),
        *activations(title, option("activation")),
        *flags(title, "norm_first", option("norm_first")),
        *positives(title, "layer_norm_eps", option("layer_norm_eps")),
        bad(f"{title}, num_heads that do not divide", make(cls, *before, 6, 4), ValueError, "num_heads must divide embed_dim = 6", "4"),
        bad(f"{title}, unknown option", make(cls, *before, 6, 3, ffn=7), TypeError, "unexpected keyword argument", "'ffn'"),
    ]  # fmt: skip


def vectors(title, called, name="x", shaped=SHAPE_OF_X):
    """What a layer says of its input, in both kinds of norm."""
    return [
        bad(f"{title}, {name} list", called([1.0]), TypeError, f"{name} must be a torch.Tensor", "list"),
        bad(f"{title}, {name} int", called(X.long()), TypeError, f"{name} must have a floating dtype", "torch.int64"),
        bad(f"{title}, {name} double", called(X.double()), TypeError, f"{name} must have the dtype of the projections, torch.float32", "torch.float64"),
        bad(f"{title}, {name} elsewhere", called(X.to("meta")), ValueError, f"{name} must be on the device of the projections, cpu", "meta"),
        bad(f"{title}, {name} rank 2", called(X[0]), ValueError, f"{name} must have {shaped}", "(3, 6)"),
        bad(f"{title}, {name} rank 4", called(X[None]), ValueError, f"{name} must have {shaped}", "(1, 2, 3, 6)"),
        bad(f"{title}, {name} too narrow", called(X[..., :5]), ValueError, f"{name} must have {shaped}", "(2, 3, 5)"),
        bad(f"{title}, {name} too wide", called(torch.ones(2, 3, 12)), ValueError, f"{name} must have {shaped}", "(2, 3, 12)"),
    ]  # fmt: skip


def masks(title, called, name, num_keys):
    target = f"(2, 3, 3, {num_keys})"
    return [
        bad(f"{title}, {name} float", called(torch.ones(3, num_keys)), TypeError, f"{name} must have dtype torch.bool (True = may attend)", "torch.float32"),
        bad(f"{title}, {name} list", called([[True]]), TypeError, f"{name} must be a boolean torch.Tensor", "list"),
        bad(f"{title}, {name} too wide", called(torch.ones(2, 1, 7).bool()), ValueError, f"{name} must broadcast to (…, num_queries, num_keys) = {target}", "(2, 1, 7)"),
        bad(f"{title}, {name} of tokens", called(torch.ones(2, num_keys).bool()), ValueError, f"{name} must broadcast to (…, num_queries, num_keys) = {target}", f"(2, {num_keys})"),
        bad(f"{title}, {name} elsewhere", called(torch.ones(3, num_keys).bool().to("meta")), ValueError, f"{name} must be on the device of the scores, cpu", "meta"),
    ]  # fmt: skip


def rows(title, called, name):
    return [
        bad(f"{title}, {name} number", called(1), TypeError, f"{name} must be a torch.Tensor or a list of them", "int"),
        bad(f"{title}, {name} rank 0", called(torch.tensor(1.0)), ValueError, f"{name} must have one row for each of 2 layers", "()"),
        bad(f"{title}, {name} for more layers", called(torch.ones(3, 3)), ValueError, f"{name} must have one row for each of 2 layers", "3"),
        bad(f"{title}, {name} list for fewer layers", called([torch.ones(3)]), ValueError, f"{name} must have one row for each of 2 layers", "1"),
        bad(f"{title}, {name} numbers in lists", called([[1.0] * 3] * 2), TypeError, "head_gates must be a torch.Tensor", "list"),
        bad(f"{title}, {name} of other heads", called(torch.ones(2, 2)), ValueError, "head_gates must have shape (num_heads,) = (3,) or (batch, num_heads) = (2, 3)", "(2,)"),
        bad(f"{title}, {name} NaN", called(torch.full((2, 3), NAN)), ValueError, "head_gates must be finite", "nan"),
    ]  # fmt: skip


def token_numbers(title, called, name):
    shaped = f"{name} must have shape (batch, length), length at least 1"
    return [
        bad(f"{title}, {name} list", called([[1, 2]]), TypeError, f"{name} must be a torch.Tensor of integers", "list"),
        bad(f"{title}, {name} None", called(None), TypeError, f"{name} must be a torch.Tensor of integers", "NoneType"),
        bad(f"{title}, {name} float", called(IDS.float()), TypeError, f"{name} must have an integer dtype", "torch.float32"),
        bad(f"{title}, {name} bool", called(IDS.bool()), TypeError, f"{name} must have an integer dtype", "torch.bool"),
        bad(f"{title}, {name} rank 1", called(IDS[0]), ValueError, shaped, "(3,)"),
        bad(f"{title}, {name} rank 3", called(IDS[None]), ValueError, shaped, "(1, 2, 3)"),
        bad(f"{title}, {name} empty", called(IDS[:, :0]), ValueError, shaped, "(2, 0)"),
        bad(f"{title}, {name} beyond the table", called(IDS + 6), ValueError, f"{name} must be below vocab_size = 7", "7"),
        bad(f"{title}, {name} negative", called(IDS - 2), ValueError, f"{name} must be at least 0", "-1"),
        bad(f"{title}, {name} elsewhere", called(IDS.to("meta")), ValueError, "token_ids must be on the device of the table, cpu", "meta"),
    ]  # fmt: skip


def token_masks(title, called, name="mask"):
    return [
        bad(f"{title}, {name} list", called([[True]]), TypeError, f"{name} must be a boolean torch.Tensor", "list"),
        bad(f"{title}, {name} float", called(EVERYONE.float()), TypeError, f"{name} must have dtype torch.bool", "torch.float32"),
        bad(f"{title}, {name} of three dimensions", called(EVERYONE[:, None]), ValueError, f"{name} must have the shape of the tokens, (2, 3), True = a token", "(2, 1, 3)"),
        bad(f"{title}, {name} of one sequence", called(EVERYONE[:1]), ValueError, f"{name} must have the shape of the tokens, (2, 3), True = a token", "(1, 3)"),
        bad(f"{title}, {name} elsewhere", called(EVERYONE.to("meta")), ValueError, f"{name} must be on the device of the tokens, cpu", "meta"),
    ]  # fmt: skip


def placed(title, called, size):
    """What the three kinds of positions say."""
    return [
        bad(f"{title}, x list", called([1.0]), TypeError, "x must be a torch.Tensor", "list"),
        bad(f"{title}, x int", called(X.long()), TypeError, "x must have a floating dtype", "torch.int64"),
        bad(f"{title}, x rank 1", called(torch.ones(6)), ValueError, "x must have at least 2 dimensions", "(6,)"),
        bad(f"{title}, x too narrow", called(torch.ones(3, 4)), ValueError, f"x must have shape (…, length, {size})", "(3, 4)"),
        bad(f"{title}, positions list", called(X, [0, 1, 2]), TypeError, "positions must be a torch.Tensor of integers", "list"),
        bad(f"{title}, positions float", called(X, torch.arange(3.0)), TypeError, "positions must have an integer dtype", "torch.float32"),
        bad(f"{title}, positions bool", called(X, EVERYONE), TypeError, "positions must have an integer dtype", "torch.bool"),
        bad(f"{title}, positions too few", called(X, torch.arange(2)), ValueError, "positions must broadcast to (…, length) = (2, 3)", "(2,)"),
        bad(f"{title}, positions of another batch", called(X, torch.ones(4, 3).long()), ValueError, "positions must broadcast to (…, length) = (2, 3)", "(4, 3)"),
        bad(f"{title}, positions of more dimensions", called(X, torch.ones(1, 2, 3).long()), ValueError, "positions must broadcast to (…, length) = (2, 3)", "(1, 2, 3)"),
        bad(f"{title}, positions negative", called(X, torch.tensor([0, -1, 2])), ValueError, "positions must be at least 0", "-1"),
        bad(f"{title}, positions elsewhere", called(X, torch.arange(3).to("meta")), ValueError, "positions must be on the device of x, cpu", "meta"),
    ]  # fmt: skip


NORMS = {"post-norm": {}, "pre-norm": {"norm_first": True}}
BAD = [
    *counts("sinusoids", "embed_dim", SinusoidalPositions, minimum=2),
    *counts("rotary", "head_dim", RotaryPositions, minimum=2),
    *counts("learned", "max_length", lambda size: LearnedPositions(size, 6)),
    *counts("learned", "embed_dim", lambda size: LearnedPositions(6, size)),
    *positives("sinusoids", "base", lambda base: SinusoidalPositions(6, base)),
    *positives("rotary", "base", lambda base: RotaryPositions(6, base)),
    bad("sinusoids, embed_dim odd", make(SinusoidalPositions, 7), ValueError, "embed_dim must be even", "7"),
    bad("rotary, head_dim odd", make(RotaryPositions, 7), ValueError, "head_dim must be even", "7"),
    bad("rotary, other pairs", make(RotaryPositions, 6, pairs="half"), ValueError, 'pairs must be "neighbours" or "halves"', "'half'"),
    bad("rotary, pairs None", make(RotaryPositions, 6, pairs=None), ValueError, 'pairs must be "neighbours" or "halves"', "None"),
    *placed("sinusoids", call(SinusoidalPositions, 6), 6),
    *placed("learned", call(LearnedPositions, 7, 6), 6),
    *placed("rotary", call(RotaryPositions, 6), 6),
    bad("learned, x double", call(LearnedPositions, 7, 6)(X.double()), TypeError, "x must have the dtype of the table, torch.float32", "torch.float64"),
    *counts("FeedForward", "embed_dim", FeedForward),
    *counts("FeedForward", "ffn_dim", lambda size: FeedForward(6, size)),
    *activations("FeedForward", lambda name: FeedForward(6, 7, name)),
    *dropouts("FeedForward", lambda p: FeedForward(6, dropout=p)),
    bad("FeedForward, x list", call(FeedForward, 6)([1.0]), TypeError, "x must be a torch.Tensor", "list"),
    bad("FeedForward, x double", call(FeedForward, 6)(X.double()), TypeError, "x must have the dtype of the layers, torch.float32", "torch.float64"),
    bad("FeedForward, x elsewhere", call(FeedForward, 6)(X.to("meta")), ValueError, "x must be on the device of the layers, cpu", "meta"),
    bad("FeedForward, x too narrow", call(FeedForward, 6)(X[..., :5]), ValueError, "x must have shape (…, 6)", "(2, 3, 5)"),
    bad("FeedForward, x a number", call(FeedForward, 6)(torch.tensor(1.0)), ValueError, "x must have at least 1 dimensions", "()"),
    *counts("Residual", "embed_dim", Residual),
    *flags("Residual", "norm_first", lambda first: Residual(6, first)),
    *dropouts("Residual", lambda p: Residual(6, dropout=p)),
    *positives("Residual", "layer_norm_eps", lambda eps: Residual(6, layer_norm_eps=eps)),
    *[
        case
        for norm, first in (("post-norm", False), ("pre-norm", True))
        for case in (
            bad(f"Residual, {norm}, x list", lambda first=first: Residual(6, first).enter([1.0]), TypeError, "x must be a torch.Tensor", "list"),
            bad(f"Residual, {norm}, x double", lambda first=first: Residual(6, first).enter(X.double()), TypeError, "x must have the dtype of the norm, torch.float32", "torch.float64"),
            bad(f"Residual, {norm}, x too narrow", lambda first=first: Residual(6, first).enter(X[..., :5]), ValueError, "x must have shape (…, 6)", "(2, 3, 5)"),
            bad(f"Residual, {norm}, x too narrow to leave", lambda first=first: Residual(6, first).leave(X[..., :5], X[..., :5]), ValueError, "x must have shape (…, 6)", "(2, 3, 5)"),
            bad(f"Residual, {norm}, update None", lambda first=first: Residual(6, first).leave(X, None), TypeError, "update must be a torch.Tensor", "NoneType"),
            bad(f"Residual, {norm}, update of a batch of one", lambda first=first: Residual(6, first).leave(X, X[:1]), ValueError, "update must have the shape of x, (2, 3, 6)", "(1, 3, 6)"),
        )
    ],
    *layers(EncoderLayer),
    *layers(DecoderLayer),
    *layers(Encoder, 2),
    *layers(Decoder, 2),
    *layers(Transformer, 7, None, least_size=2),
    *counts("Encoder", "num_layers", lambda size: Encoder(size, 6, 3)),
    *counts("Decoder", "num_layers", lambda size: Decoder(size, 6, 3)),
    *flags("DecoderLayer", "cross_attention", lambda crosses: DecoderLayer(6, 3, cross_attention=crosses)),
    *flags("Decoder", "cross_attention", lambda crosses: Decoder(2, 6, 3, cross_attention=crosses)),
    *[
        case
        for norm, options in NORMS.items()
        for case in (
            *vectors(f"EncoderLayer, {norm}", call(EncoderLayer, 6, 3, **options)),
            *vectors(f"Encoder, {norm}", call(Encoder, 2, 6, 3, **options)),
            *vectors(f"DecoderLayer alone, {norm}", call(DecoderLayer, 6, 3, cross_attention=False, **options)),
            *vectors(f"Decoder, {norm}", lambda x, options=options: lambda: Decoder(2, 6, 3, **options)(x, MEMORY)),
            *vectors(f"Decoder, {norm}", lambda memory, options=options: lambda: Decoder(2, 6, 3, **options)(X, memory), "memory"),
        )
    ],
    *masks("EncoderLayer", lambda mask: call(EncoderLayer, 6, 3)(X, mask), "mask", 3),
    *masks("Decoder", lambda mask: call(Decoder, 2, 6, 3)(X, MEMORY, mask), "mask", 3),
    *masks("Decoder", lambda mask: call(Decoder, 2, 6, 3)(X, MEMORY, memory_mask=mask), "memory_mask", 5),
    *flags("Encoder", "need_weights", lambda need: Encoder(2, 6, 3)(X, need_weights=need)),
    *flags("Decoder", "need_weights", lambda need: Decoder(2, 6, 3)(X, MEMORY, need_weights=need)),
    *rows("Encoder", lambda gates: call(Encoder, 2, 6, 3)(X, head_gates=gates), "head_gates"),
    *rows("Decoder", lambda gates: call(Decoder, 2, 6, 3)(X, MEMORY, head_gates=gates), "head_gates"),
    *rows("Decoder", lambda gates: call(Decoder, 2, 6, 3)(X, MEMORY, cross_head_gates=gates), "cross_head_gates"),
    bad("EncoderLayer, x NaN", call(EncoderLayer, 6, 3)(nan_at(X)), ValueError, "query must be finite", "nan at index (1, 2, 3)"),
    bad("Decoder, memory NaN", call(Decoder, 2, 6, 3)(X, nan_at(MEMORY)), ValueError, "key must be finite", "nan at index (1, 2, 3)"),
    bad("Decoder, memory of another batch", call(Decoder, 2, 6, 3)(X, MEMORY[:1]), ValueError, "memory must have the batch of x, 2", "1"),
    bad("Decoder, no memory", call(Decoder, 2, 6, 3)(X), ValueError, "memory must be the encoder's output", "None"),
    bad("Decoder alone, memory", call(Decoder, 2, 6, 3, cross_attention=False)(X, MEMORY), ValueError, "memory must be None", "got one"),
    bad("Decoder alone, memory_mask", call(Decoder, 2, 6, 3, cross_attention=False)(X, memory_mask=EVERYONE), ValueError, "memory_mask must be None", "got one"),
    bad("Decoder alone, cross_head_gates", call(Decoder, 2, 6, 3, cross_attention=False)(X, cross_head_gates=torch.ones(2, 3)), ValueError, "cross_head_gates must be None", "got one"),
    bad("Decoder, cache list", call(Decoder, 2, 6, 3)(X, MEMORY, cache=[]), TypeError, "cache must be a DecoderCache", "list"),
    bad("Decoder, cache of another", lambda: Decoder(2, 6, 3)(X, MEMORY, cache=Decoder(3, 6, 3).new_cache()), ValueError, "cache must have one part for each of 2 layers", "3"),
    bad("DecoderLayer, cache of a decoder", lambda: DecoderLayer(6, 3)(X, MEMORY, cache=Decoder(3, 6, 3).new_cache()), TypeError, "cache must be a LayerCache", "DecoderCache"),
    *counts("TokenEmbedding", "vocab_size", lambda size: TokenEmbedding(size, 6, SinusoidalPositions(6))),
    *counts("TokenEmbedding", "embed_dim", lambda size: TokenEmbedding(7, size, SinusoidalPositions(6))),
    *counts("TokenEmbedding", "num_segments", lambda size: embedding(num_segments=size), minimum=0),
    *flags("TokenEmbedding", "scale", lambda scale: embedding(scale=scale)),
    *dropouts("TokenEmbedding", lambda p: embedding(dropout=p)),
    *positives("TokenEmbedding", "layer_norm_eps", lambda eps: embedding(layer_norm_eps=eps)),
    bad("TokenEmbedding, no positions", make(TokenEmbedding, 7, 6, None), TypeError, "positions must be a Module", "NoneType"),
    bad("TokenEmbedding, positions of another size", call(TokenEmbedding, 7, 6, SinusoidalPositions(8))(IDS), ValueError, "x must have shape (…, length, 8)", "(2, 3, 6)"),
    *token_numbers("TokenEmbedding", lambda ids: lambda: embedding()(ids), "token_ids"),
    bad("TokenEmbedding, positions too few", lambda: embedding()(IDS, torch.arange(2)), ValueError, "positions must broadcast to (…, length) = (2, 3)", "(2,)"),
    bad("TokenEmbedding, too long", call(TokenEmbedding, 7, 6, LearnedPositions(2, 6))(IDS), ValueError, "positions must be below max_length = 2", "2"),
    bad("TokenEmbedding, no segments", lambda: embedding()(IDS, segment_ids=IDS), ValueError, "segment_ids must be None", "got some"),
    bad("TokenEmbedding, segment_ids float", lambda: embedding(num_segments=2)(IDS, segment_ids=X[..., 0]), TypeError, "segment_ids must have an integer dtype", "torch.float32"),
    bad("TokenEmbedding, segment_ids beyond", lambda: embedding(num_segments=2)(IDS, segment_ids=IDS + 1), ValueError, "segment_ids must be below num_segments = 2", "2"),
    bad("TokenEmbedding, segment_ids longer", lambda: embedding(num_segments=2)(IDS, segment_ids=MEMORY_IDS), ValueError, "segment_ids must have the shape of token_ids, (2, 3)", "(2, 5)"),
    bad("TokenEmbedding, segment_ids of one sequence", lambda: embedding(num_segments=2)(IDS, segment_ids=IDS[:1]), ValueError, "segment_ids must have the shape of token_ids, (2, 3)", "(1, 3)"),
    bad("TokenEmbedding, segment_ids elsewhere", lambda: embedding(num_segments=2)(IDS, segment_ids=IDS.to("meta")), ValueError, "segment_ids must be on the device of the table, cpu", "meta"),
    *[
        case
        for cls, stack in ((EncoderOnly, lambda: Encoder(2, 6, 3)), (DecoderOnly, lambda: Decoder(2, 6, 3, cross_attention=False)))
        for way in ("__call__", "attention_weights")
        for called in (lambda *arguments, cls=cls, stack=stack, way=way: lambda: getattr(cls(embedding(), stack()), way)(*arguments),)
        for case in (
            *token_numbers(f"{cls.__name__}.{way}", called, "token_ids"),
            *token_masks(f"{cls.__name__}.{way}", lambda mask, called=called: called(IDS, mask)),
        )
    ],
    *rows("EncoderOnly", lambda gates: lambda: EncoderOnly(embedding(), Encoder(2, 6, 3))(IDS, head_gates=gates), "head_gates"),
    bad("EncoderOnly, no segments", lambda: EncoderOnly(embedding(), Encoder(2, 6, 3))(IDS, segment_ids=IDS), ValueError, "segment_ids must be None", "got some"),
    bad("EncoderOnly, layers of another size", lambda: EncoderOnly(embedding(), Encoder(2, 9, 3))(IDS), ValueError, "(batch, num_tokens, embed_dim = 9)", "(2, 3, 6)"),
    bad("DecoderOnly, a decoder that asks an encoder", lambda: DecoderOnly(embedding(), Decoder(2, 6, 3))(IDS), ValueError, "memory must be the encoder's output", "None"),
    bad("DecoderOnly, cache list", lambda: DecoderOnly(embedding(), Decoder(2, 6, 3, cross_attention=False))(IDS, cache=[]), TypeError, "cache must be a DecoderCache", "list"),
    bad("EncoderDecoder, a decoder that asks nobody", lambda: EncoderDecoder(embedding(), Encoder(2, 6, 3), embedding(), Decoder(2, 6, 3, cross_attention=False))(IDS, IDS), ValueError, "memory must be None", "got one"),
    *[
        case
        for way in ("__call__", "attention_weights")
        for called in (lambda *arguments, way=way: lambda: getattr(transformer(), way)(*arguments),)
        for case in (
            *token_numbers(f"Transformer.{way}", lambda ids, called=called: called(ids, MEMORY_IDS), "source_ids"),
            *token_numbers(f"Transformer.{way}", lambda ids, called=called: called(MEMORY_IDS, ids), "target_ids"),
            *token_masks(f"Transformer.{way}", lambda mask, called=called: called(IDS, MEMORY_IDS, mask), "source_mask"),
            *token_masks(f"Transformer.{way}", lambda mask, called=called: called(MEMORY_IDS, IDS, None, mask), "target_mask"),
            bad(f"Transformer.{way}, source of another batch", called(IDS[:1], IDS), ValueError, "memory must have the batch of x, 2", "1"),
        )
    ],
    *token_masks("Transformer.encode", lambda mask: lambda: transformer().encode(IDS, mask), "source_mask"),
    *token_masks("Transformer.decode", lambda mask: lambda: transformer().decode(IDS, X, source_mask=mask), "source_mask"),
    *vectors("Transformer.decode", lambda memory: lambda: transformer().decode(IDS, memory), "memory"),
    bad("Transformer.decode, no memory", lambda: transformer().decode(IDS, None), ValueError, "memory must be the encoder's output", "None"),
    bad("Transformer.decode, a mask and no memory", lambda: transformer().decode(IDS, None, source_mask=EVERYONE), ValueError, "memory must be the encoder's output", "None"),
    bad("Transformer.decode, a mask and memory list", lambda: transformer().decode(IDS, [1.0], source_mask=EVERYONE), TypeError, "memory must be a torch.Tensor", "list"),
    bad("Transformer.decode, a mask and memory rank 2", lambda: transformer().decode(IDS, X[0], source_mask=EVERYONE), ValueError, "memory must have at least 3 dimensions", "(3, 6)"),
    bad("Transformer.decode, cache list", lambda: transformer().decode(IDS, X, cache=[]), TypeError, "cache must be a DecoderCache", "list"),
    bad("Transformer, embed_dim odd", make(Transformer, 7, embed_dim=9, num_heads=3), ValueError, "embed_dim must be even", "9"),
    *counts("Transformer", "vocab_size", lambda size: Transformer(size, embed_dim=6, num_heads=3)),
    bad("Transformer, target vocab_size 0", make(Transformer, 7, 0, embed_dim=6, num_heads=3), ValueError, "vocab_size must be at least 1", "0"),
    *counts("Transformer", "num_layers", lambda size: Transformer(7, embed_dim=6, num_heads=3, num_encoder_layers=size)),
    bad("Transformer, num_decoder_layers 0", make(Transformer, 7, embed_dim=6, num_heads=3, num_decoder_layers=0), ValueError, "num_layers must be at least 1", "0"),
]  # fmt: skip


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(("call", "error", "message"), BAD)
def test_bad_input(call, error, message):
    assert_named(call, error, message)
