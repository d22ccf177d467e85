"""BERT: an encoder alone."""

from collections.abc import Mapping

from torch import Tensor

from polyhead.embedding import TokenEmbedding
from polyhead.encoder import Encoder
from polyhead.layers import LayerOptions
from polyhead.positions import LearnedPositions
from polyhead.pretrained.hugging_face import Config, Layout, Settings, load_weights
from polyhead.transformer import EncoderOnly

_LAYOUT = Layout(
    prefix="bert.",
    parts={
        "embedding.tokens": "embeddings.word_embeddings",
        "embedding.positions.table": "embeddings.position_embeddings",
        "embedding.segments": "embeddings.token_type_embeddings",
        "embedding.norm": "embeddings.LayerNorm",
        "encoder.layers.*.attention.input_projection": (
            "encoder.layer.*.attention.self.query",
            "encoder.layer.*.attention.self.key",
            "encoder.layer.*.attention.self.value",
        ),
        "encoder.layers.*.attention.output_projection": "encoder.layer.*.attention.output.dense",
        "encoder.layers.*.attention_residual.norm": "encoder.layer.*.attention.output.LayerNorm",
        "encoder.layers.*.feed_forward.expand": "encoder.layer.*.intermediate.dense",
        "encoder.layers.*.feed_forward.contract": "encoder.layer.*.output.dense",
        "encoder.layers.*.feed_forward_residual.norm": "encoder.layer.*.output.LayerNorm",
    },
    # The pooler, heads for tasks, and a buffer of 0, 1, 2, …
    ignored=("pooler.", "cls.", "classifier.", "qa_outputs.", "embeddings.position_ids"),
)


def load_bert(state_dict: Mapping[str, Tensor], config: Config) -> EncoderOnly:
    """Load a model that computes the same as transformers' `BertModel`.

    `model(token_ids, mask)` returns hidden states. Post-norm, exact GELU, learned positions, segments. The
    pooler, and heads for tasks, are left out. On batches that are padded on the left, `BertModel` differs: it
    counts padding as positions, unless it gets `position_ids`.

    Source: Devlin et al. 2018; the names, transformers' `modeling_bert.py`.

    >>> load_bert({}, {"model_type": "gpt2"})
    Traceback (most recent call last):
    ValueError: config.model_type must be 'bert', got 'gpt2'
    """
    settings = Settings(config, "bert")
    settings.must_be(is_decoder=False, add_cross_attention=False, position_embedding_type="absolute")
    sizes = settings.sizes("vocab_size", "hidden_size", "max_position_embeddings", "type_vocab_size")
    vocab_size, size, max_length, num_segments = sizes
    count, heads, ffn_dim = settings.sizes("num_hidden_layers", "num_attention_heads", "intermediate_size")
    eps, dropout = settings.get("layer_norm_eps", 1e-12), settings.get("hidden_dropout_prob", 0.1)
    options: LayerOptions = {"ffn_dim": ffn_dim, "dropout": dropout, "layer_norm_eps": eps}
    options["activation"] = settings.activation("hidden_act")
    positions = LearnedPositions(max_length, size)
    embedding = TokenEmbedding(vocab_size, size, positions, False, num_segments, eps, dropout)
    encoder = Encoder(count, size, heads, **options)
    return load_weights(EncoderOnly(embedding, encoder), state_dict, _LAYOUT)
