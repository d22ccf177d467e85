"""BART: an encoder and a decoder, with cross-attention between them."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from polyhead.decoder import Decoder, DecoderLayer
from polyhead.embedding import TokenEmbedding
from polyhead.encoder import Encoder, EncoderLayer
from polyhead.multi_head.fused import MultiHeadAttention
from polyhead.positions import LearnedPositions
from polyhead.pretrained.stored import Config, Settings, StateDict, decoder_layers, encoder_layers
from polyhead.transformer import EncoderDecoder

# Heads for tasks.
_LEFT_OUT = ("final_logits_bias", "lm_head.weight", "classification_head.", "qa_outputs.")
_FIRST_POSITION = 2  # the first rows of the table of positions stand for no position


def load_bart(state_dict: Mapping[str, Tensor], config: Config) -> EncoderDecoder:
    """A model that computes what transformers' `BartModel` does.

    `model(source_ids, target_ids)` gives the decoder's hidden states. Post-norm, exact GELU, a norm after the
    embedding; its table of positions begins with two rows that stand for none.

    Args:
        state_dict: of `BartModel`, or of a model for a task, which has it under "model.".
        config: `BartConfig`, or what stands in its config.json.

    Returns:
        The model, in evaluation mode, with the dtype of the weights.

    Raises:
        TypeError: an argument is of the wrong type.
        ValueError: the configuration asks for something else; or keys are missing, unknown, or of another
            shape: the message names all of them.

    Source: Lewis et al. 2019; the names, transformers' `modeling_bart.py`.
    """
    settings = Settings(config, "bart")
    size, vocab_size = settings.size("d_model"), settings.size("vocab_size")
    dropout, activation = settings.number("dropout", 0.1), settings.activation("activation_function")
    weights = StateDict(state_dict, "model.")

    def embedding(side: str) -> TokenEmbedding:
        positions = LearnedPositions(settings.size("max_position_embeddings"), size)
        scale = bool(settings.get("scale_embedding", False))
        made = TokenEmbedding(vocab_size, size, positions, scale, layer_norm_eps=1e-5, dropout=dropout)
        weights.table(made.tokens, "shared")
        weights.same(f"{side}.embed_tokens.weight", made.tokens.weight)
        weights.table(positions.table, f"{side}.embed_positions", skip=_FIRST_POSITION)
        weights.norm(made.norm, f"{side}.layernorm_embedding")
        return made

    source, target = embedding("encoder"), embedding("decoder")
    target.tokens = source.tokens
    encoder = Encoder(
        settings.size("encoder_layers"),
        size,
        settings.size("encoder_attention_heads"),
        ffn_dim=settings.size("encoder_ffn_dim"),
        dropout=dropout,
        activation=activation,
    )
    decoder = Decoder(
        settings.size("decoder_layers"),
        size,
        settings.size("decoder_attention_heads"),
        ffn_dim=settings.size("decoder_ffn_dim"),
        dropout=dropout,
        activation=activation,
    )

    def attention(module: MultiHeadAttention, at: str) -> None:
        weights.attention(module, [f"{at}.{name}_proj" for name in "qkv"], f"{at}.out_proj")

    def rest(layer: EncoderLayer | DecoderLayer, at: str) -> None:
        weights.linear(layer.feed_forward.expand, f"{at}fc1")
        weights.linear(layer.feed_forward.contract, f"{at}fc2")
        weights.norm(layer.feed_forward_residual.norm, f"{at}final_layer_norm")

    for number, encoder_layer in enumerate(encoder_layers(encoder)):
        at = f"encoder.layers.{number}."
        attention(encoder_layer.attention, f"{at}self_attn")
        weights.norm(encoder_layer.attention_residual.norm, f"{at}self_attn_layer_norm")
        rest(encoder_layer, at)
    for number, decoder_layer in enumerate(decoder_layers(decoder)):
        at = f"decoder.layers.{number}."
        attention(decoder_layer.self_attention, f"{at}self_attn")
        weights.norm(decoder_layer.self_residual.norm, f"{at}self_attn_layer_norm")
        assert decoder_layer.cross_attention is not None and decoder_layer.cross_residual is not None
        attention(decoder_layer.cross_attention, f"{at}encoder_attn")
        weights.norm(decoder_layer.cross_residual.norm, f"{at}encoder_attn_layer_norm")
        rest(decoder_layer, at)
    weights.finish(lambda key: key.startswith(_LEFT_OUT))
    return EncoderDecoder(source, encoder, target, decoder).to(weights.dtype).eval()
