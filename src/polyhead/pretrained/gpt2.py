"""GPT-2: a decoder alone."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from polyhead.decoder import Decoder
from polyhead.embedding import TokenEmbedding
from polyhead.positions import LearnedPositions
from polyhead.pretrained.stored import Config, Settings, StateDict, decoder_layers, position_table
from polyhead.transformer import DecoderOnly


def load_gpt2(state_dict: Mapping[str, Tensor], config: Config) -> DecoderOnly:
    """A model that computes what transformers' `GPT2LMHeadModel` does: `model(token_ids)` gives logits.

    Pre-norm, GELU by its approximation with tanh, learned positions, the output tied to the embedding. GPT-2
    keeps each matrix the other way round, (in, out): all are transposed, the square ones too.

    Args:
        state_dict: of `GPT2LMHeadModel`, or of `GPT2Model`.
        config: `GPT2Config`, or what stands in its config.json.

    Returns:
        The model, in evaluation mode, with the dtype of the weights.

    Raises:
        TypeError: an argument is of the wrong type.
        ValueError: the configuration asks for something else; or keys are missing, unknown, or of another
            shape: the message names all of them.

    Source: Radford et al. 2019; the names, transformers' `modeling_gpt2.py`.
    """
    settings = Settings(config, "gpt2")
    settings.must_be("add_cross_attention", False)
    settings.must_be("scale_attn_weights", True)
    settings.must_be("scale_attn_by_inverse_layer_idx", False)
    settings.must_be("tie_word_embeddings", True)
    size, count = settings.size("n_embd"), settings.size("n_layer")
    dropout = settings.number("resid_pdrop", 0.1)
    embedding = TokenEmbedding(
        settings.size("vocab_size"),
        size,
        LearnedPositions(settings.size("n_positions"), size),
        dropout=settings.number("embd_pdrop", 0.1),
    )
    decoder = Decoder(
        count,
        size,
        settings.size("n_head"),
        cross_attention=False,
        ffn_dim=settings.size("n_inner", 4 * size),
        dropout=dropout,
        activation=settings.activation("activation_function"),
        norm_first=True,
        layer_norm_eps=settings.number("layer_norm_epsilon", 1e-5),
    )
    weights = StateDict(state_dict, "transformer.")
    weights.table(embedding.tokens, "wte")
    weights.table(position_table(embedding), "wpe")
    for number, layer in enumerate(decoder_layers(decoder)):
        at = f"h.{number}."
        weights.norm(layer.self_residual.norm, f"{at}ln_1")
        weights.linear(layer.self_attention.input_projection, f"{at}attn.c_attn", transposed=True)
        weights.linear(layer.self_attention.output_projection, f"{at}attn.c_proj", transposed=True)
        weights.norm(layer.feed_forward_residual.norm, f"{at}ln_2")
        weights.linear(layer.feed_forward.expand, f"{at}mlp.c_fc", transposed=True)
        weights.linear(layer.feed_forward.contract, f"{at}mlp.c_proj", transposed=True)
    weights.norm(decoder.norm, "ln_f")
    weights.same("lm_head.weight", embedding.tokens.weight)
    weights.finish(lambda key: key.startswith("h.") and key.endswith((".attn.bias", ".attn.masked_bias")))
    return DecoderOnly(embedding, decoder).to(weights.dtype).eval()
