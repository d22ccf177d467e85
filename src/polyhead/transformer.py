"""Whole models: an encoder alone, a decoder alone, and both with cross-attention between them.

A mask of tokens is True at a token and False at padding, which may be on either side and has no position.
With a cache, made by the model's `new_cache()`, the token ids are the new ones alone; they are added to it.
"""

from typing import NamedTuple, Unpack

import torch
from jaxtyping import Bool, Float, Integer
from torch import Tensor, nn

from polyhead.cache import DecoderCache, positions_and_mask
from polyhead.checked import Size, checked
from polyhead.decoder import Decoder
from polyhead.embedding import TiedOutput, TokenEmbedding
from polyhead.encoder import Encoder
from polyhead.layers import LayerGates, LayerOptions, Positions, with_defaults
from polyhead.positions import SinusoidalPositions


class EncoderOnly(nn.Module):
    """Every token sees all tokens: a hidden state for each, as in BERT.

    >>> embedding = TokenEmbedding(11, 6, LearnedPositions(7, 6))
    >>> model = EncoderOnly(embedding, Encoder(num_layers=2, embed_dim=6, num_heads=3))
    >>> model(torch.tensor([[3, 1, 4]])).shape
    torch.Size([1, 3, 6])
    """

    @checked
    def __init__(self, embedding: TokenEmbedding, encoder: Encoder) -> None:
        """Combine the parts."""
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
    ) -> Float[Tensor, "batch length {self.embed_dim}"]:
        """Compute a hidden state for each token; those of padding have no meaning."""
        positions, key_mask = positions_and_mask(token_ids, mask)
        x = self.embedding(token_ids, positions, segment_ids)
        return self.encoder(x, key_mask, head_gates=head_gates, positions=positions)[0]

    @checked
    def attention_weights(
        self,
        token_ids: Integer[Tensor, "batch length"],
        mask: Bool[Tensor, "batch length"] | None = None,
        segment_ids: Integer[Tensor, "batch length"] | None = None,
    ) -> tuple[Float[Tensor, "batch num_heads length length"], ...]:
        """Compute the attention weights of each layer; the arguments are those of `forward`."""
        positions, key_mask = positions_and_mask(token_ids, mask)
        x = self.embedding(token_ids, positions, segment_ids)
        return self.encoder(x, key_mask, need_weights=True, positions=positions)[1]


class DecoderOnly(nn.Module):
    """Every token sees itself and those before it: logits of the next token, as in GPT-2.

    The decoder has no cross-attention; the output is the embedding's table (`TiedOutput`) by default.

    >>> embedding = TokenEmbedding(11, 6, LearnedPositions(7, 6))
    >>> model = DecoderOnly(embedding, Decoder(2, embed_dim=6, num_heads=3, cross_attention=False))
    >>> model(torch.tensor([[3, 1, 4]])).shape
    torch.Size([1, 3, 11])
    """

    @checked
    def __init__(self, embedding: TokenEmbedding, decoder: Decoder, output: nn.Module | None = None) -> None:
        """Combine the parts; `output` turns the decoder's states into logits."""
        super().__init__()
        self.embedding, self.decoder = embedding, decoder
        self.embed_dim = _common_size(embedding, decoder)
        self.output = TiedOutput(embedding) if output is None else output

    def new_cache(self) -> DecoderCache:
        """Make an empty cache for one batch of sequences."""
        return self.decoder.new_cache()

    @checked
    def forward(
        self,
        token_ids: Integer[Tensor, "batch length"],
        mask: Bool[Tensor, "batch length"] | None = None,
        cache: DecoderCache | None = None,
        positions: Positions | None = None,
        logits_at: Integer[Tensor, "batch"] | None = None,
    ) -> Float[Tensor, "batch num_logits vocab_size"]:
        """Compute at each position the logits of the next token.

        Without `positions`, tokens are counted, and padding is not. With `logits_at`, one index of
        `token_ids` for each sequence, only the logits there are computed, (batch, 1, vocab_size).
        """
        counted, key_mask = positions_and_mask(token_ids, mask, cache)
        positions = counted if positions is None else positions
        draft = None if cache is None else cache.draft()  # an interrupt may come before the logits
        x = self.embedding(token_ids, positions)
        states, _ = self.decoder(x, mask=key_mask, cache=draft, positions=positions)
        logits: Tensor = self.output(_select(states, logits_at))
        if cache is not None and draft is not None:
            cache.commit(draft)
        return logits

    @checked
    def attention_weights(
        self,
        token_ids: Integer[Tensor, "batch length"],
        mask: Bool[Tensor, "batch length"] | None = None,
        positions: Positions | None = None,
    ) -> tuple[Float[Tensor, "batch num_heads length length"], ...]:
        """Compute the attention weights of each layer; the arguments are those of `forward`."""
        counted, key_mask = positions_and_mask(token_ids, mask)
        positions = counted if positions is None else positions
        x = self.embedding(token_ids, positions)
        _, weights = self.decoder(x, mask=key_mask, need_weights=True, positions=positions)
        return tuple(layer.self_attention for layer in weights)


def _select(states: Tensor, indices: Tensor | None) -> Tensor:
    """Take one state of each sequence, (batch, 1, embed_dim); all if there are no indices."""
    if indices is None:
        return states
    return states[torch.arange(len(states), device=states.device), indices.long()][:, None]


class TransformerWeights(NamedTuple):
    """The attention weights of an encoder and a decoder, a tensor for each layer.

    Attributes:
        encoder: each (batch, num_heads, source_length, source_length)
        decoder: each (batch, num_heads, target_length, target_length)
        cross: each (batch, num_heads, target_length, source_length)

    >>> TransformerWeights((), (), ())._fields
    ('encoder', 'decoder', 'cross')
    """

    encoder: tuple[Tensor, ...]
    decoder: tuple[Tensor, ...]
    cross: tuple[Tensor, ...]


class EncoderDecoder(nn.Module):
    """An encoder for the source, and a decoder with cross-attention to it for the target, as in BART.

    >>> source, target = (TokenEmbedding(size, 6, SinusoidalPositions(6)) for size in (11, 13))
    >>> model = EncoderDecoder(source, Encoder(1, 6, 3), target, Decoder(1, 6, 3), TiedOutput(target))
    >>> model(torch.tensor([[3, 1, 4, 1]]), torch.tensor([[5, 9]])).shape
    torch.Size([1, 2, 13])
    """

    @checked
    def __init__(
        self,
        source_embedding: TokenEmbedding,
        encoder: Encoder,
        target_embedding: TokenEmbedding,
        decoder: Decoder,
        output: nn.Module | None = None,
    ) -> None:
        """Combine the parts; without `output` the model gives the decoder's hidden states."""
        super().__init__()
        self.source_embedding, self.encoder = source_embedding, encoder
        self.target_embedding, self.decoder = target_embedding, decoder
        self.embed_dim = _common_size(source_embedding, encoder, target_embedding, decoder)
        self.output = nn.Identity() if output is None else output

    def new_cache(self) -> DecoderCache:
        """Make an empty cache for one batch of targets."""
        return self.decoder.new_cache()

    @checked
    def encode(
        self,
        source_ids: Integer[Tensor, "batch source_length"],
        source_mask: Bool[Tensor, "batch source_length"] | None = None,
    ) -> Float[Tensor, "batch source_length {self.embed_dim}"]:
        """Compute the memory: the source's hidden states, which `decode` reads at each step."""
        positions, key_mask = positions_and_mask(source_ids, source_mask)
        return self.encoder(self.source_embedding(source_ids, positions), key_mask, positions=positions)[0]

    @checked
    def decode(
        self,
        target_ids: Integer[Tensor, "batch target_length"],
        memory: Float[Tensor, "batch source_length {self.embed_dim}"],
        target_mask: Bool[Tensor, "batch target_length"] | None = None,
        source_mask: Bool[Tensor, "batch source_length"] | None = None,
        cache: DecoderCache | None = None,
        logits_at: Integer[Tensor, "batch"] | None = None,
    ) -> Float[Tensor, "batch num_logits _output"]:
        """Compute the logits of each next token, from the memory and the source's mask of `encode`.

        For `logits_at` see `DecoderOnly.forward`.
        """
        positions, key_mask = positions_and_mask(target_ids, target_mask, cache)
        x = self.target_embedding(target_ids, positions)
        memory_mask = None if source_mask is None else source_mask[:, None]
        draft = None if cache is None else cache.draft()  # an interrupt may come before the output
        states, _ = self.decoder(x, memory, key_mask, memory_mask, cache=draft, positions=positions)
        output: Tensor = self.output(_select(states, logits_at))
        if cache is not None and draft is not None:
            cache.commit(draft)
        return output

    @checked
    def forward(
        self,
        source_ids: Integer[Tensor, "batch source_length"],
        target_ids: Integer[Tensor, "batch target_length"],
        source_mask: Bool[Tensor, "batch source_length"] | None = None,
        target_mask: Bool[Tensor, "batch target_length"] | None = None,
    ) -> Float[Tensor, "batch target_length _output"]:
        """Encode the source and decode the target, all positions at once, as in training."""
        return self.decode(target_ids, self.encode(source_ids, source_mask), target_mask, source_mask)

    @checked
    def attention_weights(
        self,
        source_ids: Integer[Tensor, "batch source_length"],
        target_ids: Integer[Tensor, "batch target_length"],
        source_mask: Bool[Tensor, "batch source_length"] | None = None,
        target_mask: Bool[Tensor, "batch target_length"] | None = None,
    ) -> TransformerWeights:
        """Compute the weights of the three attentions in each layer; the arguments are those of `forward`."""
        positions, memory_mask = positions_and_mask(source_ids, source_mask)
        x = self.source_embedding(source_ids, positions)
        memory, encoder = self.encoder(x, memory_mask, need_weights=True, positions=positions)
        positions, key_mask = positions_and_mask(target_ids, target_mask)
        x = self.target_embedding(target_ids, positions)
        _, decoder = self.decoder(x, memory, key_mask, memory_mask, need_weights=True, positions=positions)
        self_attention, cross_attention = zip(*decoder, strict=True)
        return TransformerWeights(encoder, self_attention, cross_attention)


class Transformer(EncoderDecoder):
    """The Transformer of the paper; with the default sizes, its base model.

    Token vectors times √embed_dim, sinusoidal positions, post-norm, ReLU; the output shares the target
    embedding's table, and with one vocabulary the source embedding does so too.

    Source: Vaswani et al. 2017; our embed_dim is their d_model, ffn_dim their d_ff, num_heads their h, and
    num_encoder_layers = num_decoder_layers their N.

    >>> model = Transformer(11, embed_dim=6, num_heads=3, num_encoder_layers=1, num_decoder_layers=2)
    >>> model(torch.tensor([[3, 1, 4, 1]]), torch.tensor([[5, 9]])).shape
    torch.Size([1, 2, 11])
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
        dropout = with_defaults(options)["dropout"]

        def embedding(vocab_size: int) -> TokenEmbedding:
            positions = SinusoidalPositions(embed_dim)
            table = TokenEmbedding(vocab_size, embed_dim, positions, scale=True, dropout=dropout)
            # After the factor √embed_dim each number has variance 1.
            nn.init.normal_(table.tokens.weight, std=embed_dim**-0.5)
            return table

        source = embedding(source_vocab_size)
        target = source if target_vocab_size is None else embedding(target_vocab_size)
        encoder = Encoder(num_encoder_layers, embed_dim, num_heads, **options)
        decoder = Decoder(num_decoder_layers, embed_dim, num_heads, **options)
        super().__init__(source, encoder, target, decoder, TiedOutput(target))


def _common_size(*parts: TokenEmbedding | Encoder | Decoder) -> int:
    """Give the embed_dim that all parts of a model have."""
    sizes = [part.embed_dim for part in parts]
    if len(set(sizes)) > 1:
        raise ValueError(f"the parts of a model must have one embed_dim, got {sizes}")
    return sizes[0]
