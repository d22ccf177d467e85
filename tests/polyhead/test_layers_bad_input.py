# ruff: noqa: E501  in the tables, each case is one line
"""What layers and models refuse beside their annotations, one case for each rule."""

from __future__ import annotations

import pytest
import torch

from polyhead import (
    Decoder,
    DecoderOnly,
    Encoder,
    EncoderDecoder,
    EncoderLayer,
    EncoderOnly,
    LearnedPositions,
    RotaryPositions,
    SinusoidalPositions,
    TokenEmbedding,
    Transformer,
)

X, MEMORY, IDS = torch.ones(2, 3, 6), torch.ones(2, 5, 6), torch.ones(2, 3).long()
WAVES, TABLE, TURN = SinusoidalPositions(6), LearnedPositions(7, 6), RotaryPositions(6)
ENCODER, DECODER, ALONE = Encoder(2, 6, 3), Decoder(2, 6, 3), Decoder(2, 6, 3, cross_attention=False)
PLAIN, SEGMENTED = TokenEmbedding(11, 6, WAVES), TokenEmbedding(11, 6, WAVES, num_segments=2)
BOTH = Transformer(11, 13, embed_dim=6, num_heads=3, num_encoder_layers=1, num_decoder_layers=1)
ONLY = EncoderOnly(PLAIN, ENCODER)

VALUE = [
    ("odd waves", lambda: SinusoidalPositions(7), "embed_dim.*even.*7"),
    ("odd pairs", lambda: RotaryPositions(9), "head_dim.*even.*9"),
    ("heads that do not divide", lambda: EncoderLayer(6, 4), "num_heads.*6.*4"),
    ("positions of another size", lambda: TokenEmbedding(11, 8, WAVES), "positions.*8.*6"),
    ("encoder of another size", lambda: EncoderOnly(PLAIN, Encoder(1, 8, 2)), r"embed_dim.*\[6, 8\]"),
    ("decoder of another size", lambda: DecoderOnly(PLAIN, Decoder(1, 8, 2)), r"embed_dim.*\[6, 8\]"),
    ("source of another size", lambda: EncoderDecoder(TokenEmbedding(11, 8, SinusoidalPositions(8)), ENCODER, PLAIN, DECODER), r"embed_dim.*\[8, 6, 6, 6\]"),
    ("too few positions", lambda: WAVES(X, torch.arange(2)), r"positions.*\(2, 3\).*\(2,\)"),
    ("positions of another batch", lambda: TURN(X, torch.ones(4, 3).long()), r"positions.*\(2, 3\).*\(4, 3\)"),
    ("positions elsewhere", lambda: WAVES(X, torch.arange(3, device="meta")), "positions.*cpu.*meta"),
    ("a place beyond the table", lambda: TABLE(X, torch.tensor([0, 7, 2])), "positions.*7, got 7"),
    ("a place before the table", lambda: TABLE(X, torch.tensor([0, -1, 2])), "positions.*7, got -1"),
    ("a token beyond", lambda: PLAIN(IDS * 11), "token_ids.*11, got 11"),
    ("a token before", lambda: PLAIN(IDS - 2), "token_ids.*11, got -1"),
    ("tokens elsewhere", lambda: PLAIN(IDS.to("meta")), "token_ids.*cpu.*meta"),
    ("a segment beyond", lambda: SEGMENTED(IDS, segment_ids=IDS + 1), "segment_ids.*2, got 2"),
    ("segments of a model without", lambda: PLAIN(IDS, segment_ids=IDS), "segment_ids.*None"),
    ("a target's token", lambda: BOTH(IDS, IDS * 13), "token_ids.*13, got 13"),
    ("gates of other layers", lambda: ENCODER(X, head_gates=torch.ones(3, 3)), r"head_gates.*\[3, 3\].*\(3,\)"),
    ("gates of other heads", lambda: ENCODER(X, head_gates=torch.ones(2, 1)), r"head_gates.*\[3, 3\].*\(1,\)"),
    ("a list of gates", lambda: ENCODER(X, head_gates=[torch.ones(3)]), r"head_gates.*\[3, 3\].*\(3,\)"),
    ("a gate that is no row", lambda: ENCODER(X, head_gates=[torch.tensor(1.0)] * 2), r"head_gates.*\(\)"),
    ("a decoder's gates", lambda: DECODER(X, MEMORY, head_gates=torch.ones(2, 2)), r"^head_gates.*\[3, 3\]"),
    ("gates of the cross-attention", lambda: DECODER(X, MEMORY, cross_head_gates=torch.ones(1, 3)), r"cross_head_gates.*\[3, 3\]"),
    ("no memory", lambda: DECODER(X), "memory.*None"),
    ("memory for nobody", lambda: ALONE(X, MEMORY), "memory must be None"),
    ("a mask for no memory", lambda: ALONE(X, memory_mask=torch.ones(2, 1, 5).bool()), "memory_mask must be None"),
    ("gates for no memory", lambda: ALONE(X, cross_head_gates=torch.ones(2, 3)), "cross_head_gates"),
]  # fmt: skip
# The annotations are looked at once, where a call enters: here it is seen that each entry does.
ENTRIES = [
    ("an unknown option", lambda: Decoder(2, 6, 3, bias=False), TypeError, "unexpected keyword argument 'bias'"),
    ("options of a layer", lambda: EncoderLayer(6, 3, dropout=2), ValueError, "dropout.*2"),
    ("options of a stack", lambda: Decoder(2, 6, 3, ffn_dim=0), ValueError, "ffn_dim.*0"),
    ("options of a model", lambda: Transformer(11, activation="swish"), ValueError, "activation.*swish"),
    ("a layer", lambda: EncoderLayer(6, 3)(X[..., :5]), ValueError, r"x .*embed_dim = 6.*\(2, 3, 5\)"),
    ("a stack", lambda: DECODER(X, MEMORY[:1]), ValueError, r"memory .*batch = 2.*\(1, 5, 6\)"),
    ("a stack's dtype", lambda: ENCODER(X.double()), TypeError, "x .*float32.*float64"),
    ("a model", lambda: ONLY(IDS, torch.ones(2, 4).bool()), ValueError, r"mask .*length = 3.*\(2, 4\)"),
    ("a model's ids", lambda: ONLY(X[0]), TypeError, "token_ids .*float32"),
    ("encode", lambda: BOTH.encode(IDS, IDS), TypeError, "source_mask .*Bool.*int64"),
    ("decode", lambda: BOTH.decode(IDS, X[..., :5]), ValueError, r"memory .*embed_dim = 6.*\(2, 3, 5\)"),
    ("weights", lambda: BOTH.attention_weights(IDS, IDS[:1]), ValueError, r"target_ids .*batch = 2.*\(1, 3\)"),
    ("an embedding", lambda: SEGMENTED(IDS, segment_ids=IDS[:, :2]), ValueError, r"segment_ids .*\(2, 2\)"),
]  # fmt: skip


def cases(table):
    return pytest.mark.parametrize(("call", "message"), [pytest.param(*row[1:], id=row[0]) for row in table])


@pytest.mark.usefixtures("unchecked")
@cases(VALUE)
def test_refused_values(call, message):
    with pytest.raises(ValueError, match=rf"\b({message})"):
        call()


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(("call", "error", "message"), [pytest.param(*row[1:], id=row[0]) for row in ENTRIES])
def test_every_entry_checks(call, error, message):
    with pytest.raises(error, match=rf"\b({message})"):
        call()
