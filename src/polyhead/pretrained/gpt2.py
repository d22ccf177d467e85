"""GPT-2: a decoder alone."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from polyhead.decoder import Decoder
from polyhead.embedding import TokenEmbedding
from polyhead.layers import LayerOptions
from polyhead.positions import LearnedPositions
from polyhead.pretrained.hugging_face import Config, Settings, StateDict
from polyhead.transformer import DecoderOnly

_LAYER = {
    "self_residual.norm": "ln_1",
    "self_attention.input_projection": "attn.c_attn",
    "self_attention.output_projection": "attn.c_proj",
    "feed_forward_residual.norm": "ln_2",
    "feed_forward.expand": "mlp.c_fc",
    "feed_forward.contract": "mlp.c_proj",
}
# Buffers of old files: the causal mask, and the score of masked keys.
_IGNORED = (".attn.bias", ".attn.masked_bias")


def load_gpt2(state_dict: Mapping[str, Tensor], config: Config) -> DecoderOnly:
    """Load a model that computes the logits of transformers' `GPT2LMHeadModel`: `model(token_ids)`.

    Pre-norm, the tanh approximation of GELU, learned positions, an output tied to the embedding. GPT-2
    stores its matrices as (in, out): all are transposed, the square ones too. On batches that are padded on
    the left, `GPT2LMHeadModel` differs: it counts padding as positions, unless it gets `position_ids`.

    Source: Radford et al. 2019; the names, transformers' `modeling_gpt2.py`.

    >>> load_gpt2({}, {"model_type": "bert"})
    Traceback (most recent call last):
    ValueError: config.model_type must be 'gpt2', got 'bert'
    """
    settings = Settings(config, "gpt2")
    settings.must_be(add_cross_attention=False, tie_word_embeddings=True)
    settings.must_be(scale_attn_weights=True, scale_attn_by_inverse_layer_idx=False)
    vocab_size, size, max_length = settings.sizes("vocab_size", "n_embd", "n_positions")
    count, heads = settings.sizes("n_layer", "n_head")
    options: LayerOptions = {
        "ffn_dim": settings.get("n_inner"),
        "dropout": settings.get("resid_pdrop", 0.1),
        "activation": settings.activation("activation_function"),
        "norm_first": True,
        "layer_norm_eps": settings.get("layer_norm_epsilon", 1e-5),
    }
    positions, dropout = LearnedPositions(max_length, size), settings.get("embd_pdrop", 0.1)
    embedding = TokenEmbedding(vocab_size, size, positions, dropout=dropout)
    decoder = Decoder(count, size, heads, cross_attention=False, **options)
    weights = StateDict(state_dict, "transformer.")
    weights.fill(embedding, "", {"tokens": "wte", "positions.table": "wpe"})
    for number, layer in enumerate(decoder.layers):
        weights.fill(layer, f"h.{number}.", _LAYER, transposed=True)
    weights.fill(decoder, "", {"norm": "ln_f"})
    weights.check_equal("lm_head.weight", embedding.tokens.weight)
    weights.check_complete(_IGNORED)
    return DecoderOnly(embedding, decoder).to(weights.dtype).eval()
