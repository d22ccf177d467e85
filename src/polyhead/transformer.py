"""Whole models: an encoder alone, a decoder alone, and both with cross-attention between them.

A mask of tokens is True at a token, False at padding, which may stand on either side and counts no position.
With a cache, from the model's `new_cache()`, token ids are the new ones alone; they are added to it.
"""

from __future__ import annotations

import copy
from typing import NamedTuple, Unpack

from jaxtyping import Bool, Float, Integer
from torch import Tensor, nn

from polyhead.cache import DecoderCache, places
from polyhead.checked import Size, checked
from polyhead.decoder import Decoder
from polyhead.embedding import TiedOutput, TokenEmbedding
from polyhead.encoder import Encoder
from polyhead.layers import LayerGates, LayerOptions, Positions, completed
from polyhead.positions import SinusoidalPositions


class EncoderOnly(nn.Module):
    """Every token sees all tokens: a vector for each, as of BERT."""

    @checked
    def __init__(self, embedding: TokenEmbedding, encoder: Encoder) -> None:
        """Join the parts."""
        super().__init__()
        self.embedding, self.encoder = embedding, encoder
        self.embed_dim = _common_size(embedding, encoder)

    @checked
    def forward(
        self,
        token_ids: Integer[Tensor, "batch length"],
        mask: Bool[Tensor, "batch length"] | None = None,
        segment_ids: Integer[Tensor, "batch length"] | None = None,
        head_gates: LayerGates | None = None,
    ) -> Float[Tensor, "batch length embed_dim"]:
        """Encode: a hidden state for each token; those of padding mean nothing."""
        positions, keys = places(token_ids, mask)
        x = self.embedding(token_ids, positions, segment_ids)
        return self.encoder(x, keys, head_gates=head_gates, positions=positions)[0]

    @checked
    def attention_weights(
        self,
        token_ids: Integer[Tensor, "batch length"],
        mask: Bool[Tensor, "batch length"] | None = None,
        segment_ids: Integer[Tensor, "batch length"] | None = None,
    ) -> tuple[Float[Tensor, "batch num_heads length length"], ...]:
        """Who attends to whom, layer by layer; the arguments are those of the call."""
        positions, keys = places(token_ids, mask)
        x = self.embedding(token_ids, positions, segment_ids)
        return self.encoder(x, keys, need_weights=True, positions=positions)[1]


class DecoderOnly(nn.Module):
    """Every token sees itself and those before it: scores for the next token, as of GPT-2.

    The decoder is one without cross-attention; the output reads the embedding's table, if no other is given.
    """

    @checked
    def __init__(self, embedding: TokenEmbedding, decoder: Decoder, output: nn.Module | None = None) -> None:
        """Join the parts; `output` gives logits for the decoder's states."""
        super().__init__()
        self.embedding, self.decoder = embedding, decoder
        self.embed_dim = _common_size(embedding, decoder)
        self.output = TiedOutput(embedding) if output is None else output

    def new_cache(self) -> DecoderCache:
        """An empty cache for one batch of sequences."""
        return self.decoder.new_cache()

    @checked
    def forward(
        self,
        token_ids: Integer[Tensor, "batch length"],
        mask: Bool[Tensor, "batch length"] | None = None,
        cache: DecoderCache | None = None,
        positions: Positions | None = None,
    ) -> Float[Tensor, "batch length vocab_size"]:
        """Predict: at each position, the logits of the token that comes next.

        Tokens stand where `positions` say, and one after another without padding if they say nothing.
        """
        counted, keys = places(token_ids, mask, cache)
        positions = counted if positions is None else positions
        trial = None if cache is None else copy.copy(cache)  # an interrupt may come before the logits
        x = self.embedding(token_ids, positions)
        states, _ = self.decoder(x, mask=keys, cache=trial, positions=positions)
        logits: Tensor = self.output(states)
        if cache is not None and trial is not None:
            cache.take(trial)
        return logits

    @checked
    def attention_weights(
        self,
        token_ids: Integer[Tensor, "batch length"],
        mask: Bool[Tensor, "batch length"] | None = None,
        positions: Positions | None = None,
    ) -> tuple[Float[Tensor, "batch num_heads length length"], ...]:
        """Who attends to whom, layer by layer; the arguments are those of the call."""
        counted, keys = places(token_ids, mask)
        positions = counted if positions is None else positions
        x = self.embedding(token_ids, positions)
        _, weights = self.decoder(x, mask=keys, need_weights=True, positions=positions)
        return tuple(layer.self_attention for layer in weights)


class TransformerWeights(NamedTuple):
    """The attention weights of an encoder and decoder, a tensor for each layer.

    Attributes:
        encoder: each (batch, num_heads, source_length, source_length)
        decoder: each (batch, num_heads, target_length, target_length)
        cross: each (batch, num_heads, target_length, source_length)
    """

    encoder: tuple[Tensor, ...]
    decoder: tuple[Tensor, ...]
    cross: tuple[Tensor, ...]


class EncoderDecoder(nn.Module):
    """An encoder reads the source, a decoder writes the target and asks the encoder's output, as of BART."""

    @checked
    def __init__(
        self,
        source_embedding: TokenEmbedding,
        encoder: Encoder,
        target_embedding: TokenEmbedding,
        decoder: Decoder,
        output: nn.Module | None = None,
    ) -> None:
        """Join the parts; without `output` the model gives the decoder's hidden states."""
        super().__init__()
        self.source_embedding, self.encoder = source_embedding, encoder
        self.target_embedding, self.decoder = target_embedding, decoder
        self.embed_dim = _common_size(source_embedding, encoder, target_embedding, decoder)
        self.output = nn.Identity() if output is None else output

    def new_cache(self) -> DecoderCache:
        """An empty cache for one batch of targets."""
        return self.decoder.new_cache()

    @checked
    def encode(
        self,
        source_ids: Integer[Tensor, "batch source_length"],
        source_mask: Bool[Tensor, "batch source_length"] | None = None,
    ) -> Float[Tensor, "batch source_length embed_dim"]:
        """Read the source, once: the memory that the decoder asks."""
        positions, keys = places(source_ids, source_mask)
        return self.encoder(self.source_embedding(source_ids, positions), keys, positions=positions)[0]

    @checked
    def decode(
        self,
        target_ids: Integer[Tensor, "batch target_length"],
        memory: Float[Tensor, "batch source_length embed_dim"],
        target_mask: Bool[Tensor, "batch target_length"] | None = None,
        source_mask: Bool[Tensor, "batch source_length"] | None = None,
        cache: DecoderCache | None = None,
    ) -> Float[Tensor, "batch target_length _output"]:
        """Predict each next token of the target, from the memory and the source's mask of `encode`."""
        positions, keys = places(target_ids, target_mask, cache)
        x = self.target_embedding(target_ids, positions)
        memory_keys = None if source_mask is None else source_mask[:, None]
        trial = None if cache is None else copy.copy(cache)  # an interrupt may come before the output
        states, _ = self.decoder(x, memory, keys, memory_keys, cache=trial, positions=positions)
        output: Tensor = self.output(states)
        if cache is not None and trial is not None:
            cache.take(trial)
        return output

    @checked
    def forward(
        self,
        source_ids: Integer[Tensor, "batch source_length"],
        target_ids: Integer[Tensor, "batch target_length"],
        source_mask: Bool[Tensor, "batch source_length"] | None = None,
        target_mask: Bool[Tensor, "batch target_length"] | None = None,
    ) -> Float[Tensor, "batch target_length _output"]:
        """Encode the source and decode the target: all positions at once, as in training."""
        return self.decode(target_ids, self.encode(source_ids, source_mask), target_mask, source_mask)

    @checked
    def attention_weights(
        self,
        source_ids: Integer[Tensor, "batch source_length"],
        target_ids: Integer[Tensor, "batch target_length"],
        source_mask: Bool[Tensor, "batch source_length"] | None = None,
        target_mask: Bool[Tensor, "batch target_length"] | None = None,
    ) -> TransformerWeights:
        """Who attends to whom, in each of the three uses and layer by layer; as the call."""
        positions, source_keys = places(source_ids, source_mask)
        x = self.source_embedding(source_ids, positions)
        memory, encoder = self.encoder(x, source_keys, need_weights=True, positions=positions)
        positions, keys = places(target_ids, target_mask)
        x = self.target_embedding(target_ids, positions)
        _, decoder = self.decoder(x, memory, keys, source_keys, need_weights=True, positions=positions)
        own, cross = zip(*decoder, strict=True)
        return TransformerWeights(encoder, own, cross)


class Transformer(EncoderDecoder):
    """The Transformer of the paper; as it stands, its base model.

    Token vectors times √embed_dim, sinusoidal positions, post-norm, ReLU; the output shares the target
    embedding's table, and with one vocabulary the source embedding does so too.

    Source: Vaswani et al. 2017; our embed_dim is their d_model, ffn_dim their d_ff, num_heads their h, and
    num_encoder_layers = num_decoder_layers their N.
    """

    @checked
    def __init__(
        self,
        source_vocab_size: Size,
        target_vocab_size: Size | None = None,
        embed_dim: Size = 512,
        num_heads: Size = 8,
        num_encoder_layers: Size = 6,
        num_decoder_layers: Size = 6,
        **options: Unpack[LayerOptions],
    ) -> None:
        """Make the model; without `target_vocab_size`, source and target share one vocabulary and one table.

        embed_dim must be even, and a multiple of `num_heads`; for the options see `LayerOptions`.
        """
        dropout = completed(options)["dropout"]

        def embedding(vocab_size: int) -> TokenEmbedding:
            positions = SinusoidalPositions(embed_dim)
            made = TokenEmbedding(vocab_size, embed_dim, positions, scale=True, dropout=dropout)
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
            TiedOutput(target),
        )


def _common_size(*parts: TokenEmbedding | Encoder | Decoder) -> int:
    """The embed_dim that all parts of a model have."""
    sizes = [part.embed_dim for part in parts]
    if len(set(sizes)) > 1:
        raise ValueError(f"the parts of a model must have one embed_dim, got {sizes}")
    return sizes[0]
