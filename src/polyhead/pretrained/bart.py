"""BART: an encoder and a decoder, with cross-attention between them."""

from collections.abc import Mapping

from torch import Tensor

from polyhead.decoder import Decoder
from polyhead.embedding import TokenEmbedding
from polyhead.encoder import Encoder
from polyhead.positions import LearnedPositions
from polyhead.pretrained.hugging_face import Config, Layout, Settings, load_weights, query_key_value
from polyhead.transformer import EncoderDecoder

_LAYOUT = Layout(
    prefix="model.",
    parts={
        "source_embedding.tokens": "shared",
        "source_embedding.positions.table": "encoder.embed_positions",
        "source_embedding.norm": "encoder.layernorm_embedding",
        "encoder.layers.*.attention.input_projection": query_key_value("encoder.layers.*.self_attn"),
        "encoder.layers.*.attention.output_projection": "encoder.layers.*.self_attn.out_proj",
        "encoder.layers.*.attention_residual.norm": "encoder.layers.*.self_attn_layer_norm",
        "encoder.layers.*.feed_forward.expand": "encoder.layers.*.fc1",
        "encoder.layers.*.feed_forward.contract": "encoder.layers.*.fc2",
        "encoder.layers.*.feed_forward_residual.norm": "encoder.layers.*.final_layer_norm",
        "target_embedding.positions.table": "decoder.embed_positions",
        "target_embedding.norm": "decoder.layernorm_embedding",
        "decoder.layers.*.self_attention.input_projection": query_key_value("decoder.layers.*.self_attn"),
        "decoder.layers.*.self_attention.output_projection": "decoder.layers.*.self_attn.out_proj",
        "decoder.layers.*.self_residual.norm": "decoder.layers.*.self_attn_layer_norm",
        "decoder.layers.*.cross_attention.input_projection": query_key_value("decoder.layers.*.encoder_attn"),
        "decoder.layers.*.cross_attention.output_projection": "decoder.layers.*.encoder_attn.out_proj",
        "decoder.layers.*.cross_residual.norm": "decoder.layers.*.encoder_attn_layer_norm",
        "decoder.layers.*.feed_forward.expand": "decoder.layers.*.fc1",
        "decoder.layers.*.feed_forward.contract": "decoder.layers.*.fc2",
        "decoder.layers.*.feed_forward_residual.norm": "decoder.layers.*.final_layer_norm",
    },
    copies={
        "encoder.embed_tokens.weight": "source_embedding.tokens",
        "decoder.embed_tokens.weight": "source_embedding.tokens",
    },
    # Weights of heads for tasks.
    ignored=("final_logits_bias", "lm_head.weight", "classification_head.", "qa_outputs."),
    unused_positions=2,
)


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

    def embedding() -> TokenEmbedding:
        positions = LearnedPositions(max_length, size)
        return TokenEmbedding(vocab_size, size, positions, scale, layer_norm_eps=1e-5, dropout=dropout)

    source, target = embedding(), embedding()
    target.tokens = source.tokens
    activation = settings.activation("activation_function")
    names = ("layers", "attention_heads", "ffn_dim")
    count, heads, ffn_dim = settings.sizes(*(f"encoder_{name}" for name in names))
    encoder = Encoder(count, size, heads, ffn_dim=ffn_dim, dropout=dropout, activation=activation)
    count, heads, ffn_dim = settings.sizes(*(f"decoder_{name}" for name in names))
    decoder = Decoder(count, size, heads, ffn_dim=ffn_dim, dropout=dropout, activation=activation)
    return load_weights(EncoderDecoder(source, encoder, target, decoder), state_dict, _LAYOUT)
