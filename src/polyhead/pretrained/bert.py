"""BERT: an encoder alone."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from polyhead.embedding import TokenEmbedding
from polyhead.encoder import Encoder
from polyhead.positions import LearnedPositions
from polyhead.pretrained.stored import Config, Settings, StateDict, encoder_layers, position_table
from polyhead.transformer import EncoderOnly

# The pooler, heads for tasks, and a buffer that holds 0, 1, 2, …
_LEFT_OUT = ("pooler.", "cls.", "classifier.", "qa_outputs.", "embeddings.position_ids")


def load_bert(state_dict: Mapping[str, Tensor], config: Config) -> EncoderOnly:
    """A model that computes what transformers' `BertModel` does.

    `model(token_ids, mask)` gives hidden states. Post-norm, exact GELU, learned positions, segments. The
    pooler, and heads for tasks, are left out.

    Args:
        state_dict: of `BertModel`, or of a model for a task, which has it under "bert.".
        config: `BertConfig`, or what stands in its config.json.

    Returns:
        The model, in evaluation mode, with the dtype of the weights.

    Raises:
        TypeError: an argument is of the wrong type.
        ValueError: the configuration asks for something else; or keys are missing, unknown, or of another
            shape: the message names all of them.

    Source: Devlin et al. 2018; the names, transformers' `modeling_bert.py`.
    """
    settings = Settings(config, "bert")
    settings.must_be("is_decoder", False)
    settings.must_be("add_cross_attention", False)
    settings.must_be("position_embedding_type", "absolute")
    size, count = settings.size("hidden_size"), settings.size("num_hidden_layers")
    eps, dropout = settings.number("layer_norm_eps", 1e-12), settings.number("hidden_dropout_prob", 0.1)
    embedding = TokenEmbedding(
        settings.size("vocab_size"),
        size,
        LearnedPositions(settings.size("max_position_embeddings"), size),
        num_segments=settings.size("type_vocab_size"),
        layer_norm_eps=eps,
        dropout=dropout,
    )
    encoder = Encoder(
        count,
        size,
        settings.size("num_attention_heads"),
        ffn_dim=settings.size("intermediate_size"),
        dropout=dropout,
        activation=settings.activation("hidden_act"),
        layer_norm_eps=eps,
    )
    weights = StateDict(state_dict, "bert.")
    weights.table(embedding.tokens, "embeddings.word_embeddings")
    weights.table(position_table(embedding), "embeddings.position_embeddings")
    weights.table(embedding.segments, "embeddings.token_type_embeddings")
    weights.norm(embedding.norm, "embeddings.LayerNorm")
    for number, layer in enumerate(encoder_layers(encoder)):
        at = f"encoder.layer.{number}."
        weights.attention(
            layer.attention,
            [f"{at}attention.self.{name}" for name in ("query", "key", "value")],
            f"{at}attention.output.dense",
        )
        weights.norm(layer.attention_residual.norm, f"{at}attention.output.LayerNorm")
        weights.linear(layer.feed_forward.expand, f"{at}intermediate.dense")
        weights.linear(layer.feed_forward.contract, f"{at}output.dense")
        weights.norm(layer.feed_forward_residual.norm, f"{at}output.LayerNorm")
    weights.finish(lambda key: key.startswith(_LEFT_OUT))
    return EncoderOnly(embedding, encoder).to(weights.dtype).eval()
