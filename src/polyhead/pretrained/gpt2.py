"""GPT-2: a decoder alone."""

from collections.abc import Mapping

from torch import Tensor

from polyhead.decoder import Decoder
from polyhead.embedding import TokenEmbedding
from polyhead.layers import LayerOptions
from polyhead.positions import LearnedPositions
from polyhead.pretrained.hugging_face import Config, Layout, Settings, load_weights
from polyhead.transformer import DecoderOnly

_LAYOUT = Layout(
    prefix="transformer.",
    parts={
        "embedding.tokens": "wte",
        "embedding.positions.table": "wpe",
        "decoder.layers.*.self_residual.norm": "h.*.ln_1",
        "decoder.layers.*.self_attention.input_projection": "h.*.attn.c_attn",
        "decoder.layers.*.self_attention.output_projection": "h.*.attn.c_proj",
        "decoder.layers.*.feed_forward_residual.norm": "h.*.ln_2",
        "decoder.layers.*.feed_forward.expand": "h.*.mlp.c_fc",
        "decoder.layers.*.feed_forward.contract": "h.*.mlp.c_proj",
        "decoder.norm": "ln_f",
    },
    copies={"lm_head.weight": "embedding.tokens"},
    # Buffers of old files: the causal mask, and the score of masked keys.
    ignored=(".attn.bias", ".attn.masked_bias"),
    transposed=True,
)


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
    return load_weights(DecoderOnly(embedding, decoder), state_dict, _LAYOUT)
