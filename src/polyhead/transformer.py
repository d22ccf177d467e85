"""Whole models: an encoder alone, a decoder alone, and both with cross-attention between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Unpack

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from polyhead import _validate
from polyhead.cache import DecoderCache
from polyhead.decoder import Decoder, DecoderWeights
from polyhead.embedding import TokenEmbedding, places
from polyhead.encoder import Encoder
from polyhead.feed_forward import LayerOptions
from polyhead.positions import SinusoidalPositions


class EncoderOnly(nn.Module):
    """Every token sees all tokens: a vector for each, as of BERT.

    Attributes:
        embedding: `TokenEmbedding`.
        encoder: `Encoder`.
    """

    def __init__(self, embedding: TokenEmbedding, encoder: Encoder) -> None:
        """Join the parts.

        Args:
            embedding: from token numbers to vectors.
            encoder: the layers.
        """
        super().__init__()
        self.embedding = embedding
        self.encoder = encoder

    def forward(
        self,
        token_ids: Int[Tensor, "batch length"],
        mask: Bool[Tensor, "batch length"] | None = None,
        segment_ids: Int[Tensor, "batch length"] | None = None,
        head_gates: Sequence[Tensor] | Tensor | None = None,
    ) -> Float[Tensor, "batch length embed_dim"]:
        """Encode.

        Args:
            token_ids: (batch, length).
            mask: (batch, length), boolean, True = a token, False = padding.
            segment_ids: (batch, length), where the embedding has segments; 0 if not given.
            head_gates: a factor for each head of each layer, (num_layers, num_heads).

        Returns:
            The hidden states, (batch, length, embed_dim); those of padding mean nothing.

        Raises:
            TypeError, ValueError: an argument does not fit; the message says which and how.
        """
        states, _ = self._run(token_ids, mask, segment_ids, head_gates, need_weights=False)
        return states

    def attention_weights(
        self,
        token_ids: Int[Tensor, "batch length"],
        mask: Bool[Tensor, "batch length"] | None = None,
        segment_ids: Int[Tensor, "batch length"] | None = None,
    ) -> tuple[Float[Tensor, "batch num_heads length length"], ...]:
        """Who attends to whom, layer by layer.

        Args:
            token_ids: (batch, length).
            mask: (batch, length), as of the call.
            segment_ids: (batch, length), as of the call.

        Returns:
            For each layer (batch, num_heads, length, length).
        """
        _, weights = self._run(token_ids, mask, segment_ids, None, need_weights=True)
        assert weights is not None
        return weights

    def _run(
        self,
        token_ids: Tensor,
        mask: Tensor | None,
        segment_ids: Tensor | None,
        head_gates: Sequence[Tensor] | Tensor | None,
        need_weights: bool,
    ) -> tuple[Tensor, tuple[Tensor, ...] | None]:
        _validate.token_ids("token_ids", token_ids, self.embedding.tokens.num_embeddings)
        positions, keys = places(token_ids, mask)
        x = self.embedding(token_ids, positions, segment_ids)
        states, weights = self.encoder(x, keys, need_weights, head_gates)
        return states, weights


class DecoderOnly(nn.Module):
    """Every token sees itself and those before it: scores for the next token, as of GPT-2.

    Attributes:
        embedding: `TokenEmbedding`.
        decoder: `Decoder` without cross-attention.
        output: `nn.Linear(embed_dim, vocab_size, bias=False)`, which shares the embedding's table.
    """

    def __init__(self, embedding: TokenEmbedding, decoder: Decoder) -> None:
        """Join the parts.

        Args:
            embedding: from token numbers to vectors.
            decoder: the layers.
        """
        super().__init__()
        self.embedding = embedding
        self.decoder = decoder
        self.output = tied_output(embedding)

    def new_cache(self) -> DecoderCache:
        """An empty cache for one batch of sequences."""
        return self.decoder.new_cache()

    def forward(
        self,
        token_ids: Int[Tensor, "batch length"],
        mask: Bool[Tensor, "batch length"] | None = None,
        cache: DecoderCache | None = None,
    ) -> Float[Tensor, "batch length vocab_size"]:
        """Predict each next token.

        Args:
            token_ids: (batch, length): the new tokens, if there is a cache.
            mask: (batch, length), boolean, True = a token, False = padding, left or right.
            cache: from `new_cache()`; the new tokens are added to it.

        Returns:
            The logits, (batch, length, vocab_size): at each position, for the token that comes next.

        Raises:
            TypeError, ValueError: an argument does not fit; the message says which and how.
        """
        _validate.token_ids("token_ids", token_ids, self.embedding.tokens.num_embeddings)
        positions, keys = places(token_ids, mask, cache)
        states, _ = self.decoder(self.embedding(token_ids, positions), mask=keys, cache=cache)
        logits: Tensor = self.output(states)
        return logits

    def attention_weights(
        self, token_ids: Int[Tensor, "batch length"], mask: Bool[Tensor, "batch length"] | None = None
    ) -> tuple[Float[Tensor, "batch num_heads length length"], ...]:
        """Who attends to whom, layer by layer.

        Args:
            token_ids: (batch, length).
            mask: (batch, length), as of the call.

        Returns:
            For each layer (batch, num_heads, length, length).
        """
        _validate.token_ids("token_ids", token_ids, self.embedding.tokens.num_embeddings)
        positions, keys = places(token_ids, mask)
        _, weights = self.decoder(self.embedding(token_ids, positions), mask=keys, need_weights=True)
        return tuple(layer.self_attention for layer in weights)


class TransformerWeights(NamedTuple):
    """The attention weights of an encoder and decoder, a tensor for each layer."""

    encoder: tuple[Tensor, ...]  # each (batch, num_heads, source_length, source_length)
    decoder: tuple[Tensor, ...]  # each (batch, num_heads, target_length, target_length)
    cross: tuple[Tensor, ...]  # each (batch, num_heads, target_length, source_length)


class EncoderDecoder(nn.Module):
    """An encoder reads the source, a decoder writes the target and asks the encoder's output, as of BART.

    Attributes:
        source_embedding, encoder, target_embedding, decoder: the parts.
        output: from hidden states to what the model gives: logits, or the hidden states themselves.
    """

    def __init__(
        self,
        source_embedding: TokenEmbedding,
        encoder: Encoder,
        target_embedding: TokenEmbedding,
        decoder: Decoder,
        output: nn.Module | None = None,
    ) -> None:
        """Join the parts.

        Args:
            source_embedding: from the source's token numbers to vectors.
            encoder: the encoder's layers.
            target_embedding: from the target's token numbers to vectors.
            decoder: the decoder's layers, with cross-attention.
            output: what the decoder's hidden states pass last; nothing if not given.
        """
        super().__init__()
        self.source_embedding = source_embedding
        self.encoder = encoder
        self.target_embedding = target_embedding
        self.decoder = decoder
        self.output = nn.Identity() if output is None else output

    def new_cache(self) -> DecoderCache:
        """An empty cache for one batch of targets."""
        return self.decoder.new_cache()

    def encode(
        self,
        source_ids: Int[Tensor, "batch source_length"],
        source_mask: Bool[Tensor, "batch source_length"] | None = None,
    ) -> Float[Tensor, "batch source_length embed_dim"]:
        """Read the source, once.

        Args:
            source_ids: (batch, source_length).
            source_mask: (batch, source_length), boolean, True = a token, False = padding.

        Returns:
            The memory that the decoder asks, (batch, source_length, embed_dim).

        Raises:
            TypeError, ValueError: an argument does not fit; the message says which and how.
        """
        return self._encode(source_ids, source_mask, need_weights=False)[0]

    def decode(
        self,
        target_ids: Int[Tensor, "batch target_length"],
        memory: Float[Tensor, "batch source_length embed_dim"],
        target_mask: Bool[Tensor, "batch target_length"] | None = None,
        source_mask: Bool[Tensor, "batch source_length"] | None = None,
        cache: DecoderCache | None = None,
    ) -> Float[Tensor, "batch target_length _output"]:
        """Predict each next token of the target.

        Args:
            target_ids: (batch, target_length): the new tokens, if there is a cache.
            memory: what `encode` gave.
            target_mask: (batch, target_length), boolean, True = a token, False = padding.
            source_mask: the mask that `encode` took.
            cache: from `new_cache()`; the new tokens are added to it.

        Returns:
            What `output` makes of the hidden states, (batch, target_length, any).

        Raises:
            TypeError, ValueError: an argument does not fit; the message says which and how.
        """
        return self._decode(target_ids, memory, target_mask, source_mask, cache, need_weights=False)[0]

    def forward(
        self,
        source_ids: Int[Tensor, "batch source_length"],
        target_ids: Int[Tensor, "batch target_length"],
        source_mask: Bool[Tensor, "batch source_length"] | None = None,
        target_mask: Bool[Tensor, "batch target_length"] | None = None,
    ) -> Float[Tensor, "batch target_length _output"]:
        """Encode the source and decode the target: all positions at once, as in training.

        Args:
            source_ids: (batch, source_length).
            target_ids: (batch, target_length): what stands before each token to predict.
            source_mask: (batch, source_length), boolean, True = a token, False = padding.
            target_mask: (batch, target_length), the same for the target.

        Returns:
            What `output` makes of the hidden states, (batch, target_length, any).

        Raises:
            TypeError, ValueError: an argument does not fit; the message says which and how.
        """
        return self.decode(target_ids, self.encode(source_ids, source_mask), target_mask, source_mask)

    def attention_weights(
        self,
        source_ids: Int[Tensor, "batch source_length"],
        target_ids: Int[Tensor, "batch target_length"],
        source_mask: Bool[Tensor, "batch source_length"] | None = None,
        target_mask: Bool[Tensor, "batch target_length"] | None = None,
    ) -> TransformerWeights:
        """Who attends to whom, in each of the three uses and layer by layer.

        Args:
            source_ids: (batch, source_length).
            target_ids: (batch, target_length).
            source_mask: (batch, source_length), as of the call.
            target_mask: (batch, target_length), as of the call.

        Returns:
            `encoder`, `decoder` and `cross`: for each layer (batch, num_heads, num_queries, num_keys).
        """
        memory, encoder = self._encode(source_ids, source_mask, need_weights=True)
        _, decoder = self._decode(target_ids, memory, target_mask, source_mask, None, need_weights=True)
        assert encoder is not None and decoder is not None
        return TransformerWeights(
            encoder,
            tuple(layer.self_attention for layer in decoder),
            tuple(layer.cross_attention for layer in decoder if layer.cross_attention is not None),
        )

    def _encode(
        self, source_ids: Tensor, source_mask: Tensor | None, need_weights: bool
    ) -> tuple[Tensor, tuple[Tensor, ...] | None]:
        _validate.token_ids("source_ids", source_ids, self.source_embedding.tokens.num_embeddings)
        positions, keys = places(source_ids, source_mask, name="source_mask")
        memory, weights = self.encoder(self.source_embedding(source_ids, positions), keys, need_weights)
        return memory, weights

    def _decode(
        self,
        target_ids: Tensor,
        memory: Tensor,
        target_mask: Tensor | None,
        source_mask: Tensor | None,
        cache: DecoderCache | None,
        need_weights: bool,
    ) -> tuple[Tensor, tuple[DecoderWeights, ...] | None]:
        _validate.token_ids("target_ids", target_ids, self.target_embedding.tokens.num_embeddings)
        if source_mask is not None and memory is not None:  # the decoder says what it misses
            _validate.floating("memory", memory, min_rank=3)
            _validate.token_mask("source_mask", source_mask, memory[..., 0])
        positions, keys = places(target_ids, target_mask, cache, "target_mask")
        states, weights = self.decoder(
            self.target_embedding(target_ids, positions),
            memory,
            mask=keys,
            memory_mask=None if source_mask is None else source_mask[:, None],
            need_weights=need_weights,
            cache=cache,
        )
        return self.output(states), weights


class Transformer(EncoderDecoder):
    """The Transformer of the paper; as it stands, its base model.

    Token vectors times √embed_dim, sinusoidal positions, post-norm, ReLU; the output shares the target
    embedding's table, and with one vocabulary the source embedding does so too.

    Source: Vaswani et al. 2017; our embed_dim is their d_model, ffn_dim their d_ff, num_heads their h, and
    num_encoder_layers = num_decoder_layers their N.
    """

    def __init__(
        self,
        source_vocab_size: int,
        target_vocab_size: int | None = None,
        embed_dim: int = 512,
        num_heads: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        **options: Unpack[LayerOptions],
    ) -> None:
        """Make the model.

        Args:
            source_vocab_size: how many different tokens the source has.
            target_vocab_size: how many the target has; if not given, both share one vocabulary and one table.
            embed_dim: size of each vector, even.
            num_heads: how many heads each attention has; must divide `embed_dim`.
            num_encoder_layers: how many layers the encoder has.
            num_decoder_layers: how many the decoder has.
            **options: as of `EncoderLayer`: `ffn_dim`, `dropout`, `activation`, `norm_first`,
                `layer_norm_eps`.

        Raises:
            TypeError: an argument is of the wrong type.
            ValueError: an argument has no possible value.
        """
        dropout = options.get("dropout", 0.1)

        def embedding(vocab_size: int) -> TokenEmbedding:
            made = TokenEmbedding(
                vocab_size, embed_dim, SinusoidalPositions(embed_dim), scale=True, dropout=dropout
            )
            # After the factor √embed_dim each number has variance 1.
            nn.init.normal_(made.tokens.weight, std=embed_dim**-0.5)
            return made

        source = embedding(source_vocab_size)
        target = source if target_vocab_size is None else embedding(target_vocab_size)
        super().__init__(
            source,
            Encoder(num_encoder_layers, embed_dim, num_heads, **options),
            target,
            Decoder(num_decoder_layers, embed_dim, num_heads, **options),
            tied_output(target),
        )


def tied_output(embedding: TokenEmbedding) -> nn.Linear:
    """From hidden states to logits with the embedding's own table: logits = states · tableᵀ.

    Source: Press & Wolf 2017.
    """
    vocab_size, embed_dim = embedding.tokens.weight.shape
    output = nn.Linear(embed_dim, vocab_size, bias=False)
    output.weight = embedding.tokens.weight
    return output
