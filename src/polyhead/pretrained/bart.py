"""BART: an encoder and a decoder, with cross-attention between them."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from polyhead.decoder import Decoder
from polyhead.embedding import TokenEmbedding
from polyhead.encoder import Encoder
from polyhead.positions import LearnedPositions
from polyhead.pretrained.hugging_face import Config, Settings, StateDict
from polyhead.transformer import EncoderDecoder


def _attention(ours: str, residual: str, theirs: str) -> dict[str, str | tuple[str, ...]]:
    return {
        f"{ours}.input_projection": tuple(f"{theirs}.{name}_proj" for name in "qkv"),
        f"{ours}.output_projection": f"{theirs}.out_proj",
        f"{residual}.norm": f"{theirs}_layer_norm",
    }


_NETWORK = {
    "feed_forward.expand": "fc1",
    "feed_forward.contract": "fc2",
    "feed_forward_residual.norm": "final_layer_norm",
}
_ENCODER_LAYER = _attention("attention", "attention_residual", "self_attn") | _NETWORK
_DECODER_LAYER = (
    _attention("self_attention", "self_residual", "self_attn")
    | _attention("cross_attention", "cross_residual", "encoder_attn")
    | _NETWORK
)
# Weights of heads for tasks, which are ignored.
_IGNORED = ("final_logits_bias", "lm_head.weight", "classification_head.", "qa_outputs.")
_FIRST_POSITION = 2  # two rows before that of position 0, which are never used


def load_bart(state_dict: Mapping[str, Tensor], config: Config) -> EncoderDecoder:
    """Load a model that computes the same as transformers' `BartModel`.

    `model(source_ids, target_ids)` returns the decoder's hidden states. Post-norm, exact GELU, a norm after
    the embedding; the first two rows of its table of positions are unused.

    Source: Lewis et al. 2019; the names, transformers' `modeling_bart.py`.

    >>> load_bart({}, {"model_type": "gpt2"})
    Traceback (most recent call last):
    ValueError: config.model_type must be 'bart', got 'gpt2'
    """
    settings = Settings(config, "bart")
    vocab_size, size, max_length = settings.sizes("vocab_size", "d_model", "max_position_embeddings")
    scale, dropout = settings.get("scale_embedding", False), settings.get("dropout", 0.1)
    weights = StateDict(state_dict, "model.")

    def embedding(side: str) -> TokenEmbedding:
        positions = LearnedPositions(max_length, size)
        module = TokenEmbedding(vocab_size, size, positions, scale, layer_norm_eps=1e-5, dropout=dropout)
        weights.fill(module, "", {"tokens": "shared"})
        weights.check_equal(f"{side}.embed_tokens.weight", module.tokens.weight)
        weights.fill(module, f"{side}.", {"positions.table": "embed_positions"}, skip=_FIRST_POSITION)
        weights.fill(module, f"{side}.", {"norm": "layernorm_embedding"})
        return module

    source, target = embedding("encoder"), embedding("decoder")
    target.tokens = source.tokens
    activation = settings.activation("activation_function")
    names = ("layers", "attention_heads", "ffn_dim")
    count, heads, ffn_dim = settings.sizes(*(f"encoder_{name}" for name in names))
    encoder = Encoder(count, size, heads, ffn_dim=ffn_dim, dropout=dropout, activation=activation)
    count, heads, ffn_dim = settings.sizes(*(f"decoder_{name}" for name in names))
    decoder = Decoder(count, size, heads, ffn_dim=ffn_dim, dropout=dropout, activation=activation)
    for number, layer in enumerate(encoder.layers):
        weights.fill(layer, f"encoder.layers.{number}.", _ENCODER_LAYER)
    for number, layer in enumerate(decoder.layers):
        weights.fill(layer, f"decoder.layers.{number}.", _DECODER_LAYER)
    weights.check_complete(_IGNORED)
    return EncoderDecoder(source, encoder, target, decoder).to(weights.dtype).eval()
