"""A decoder small enough to read, with the parts of a modern one, in which the clinic plants its bugs."""

import functools
from typing import Any, ClassVar, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from polyhead.cache import DecoderCache, LayerCache, positions_and_mask
from polyhead.functional import masked_softmax
from polyhead.positions import RotaryPositions

VOCAB_SIZE, EMBED_DIM, HEAD_DIM, NUM_HEADS, NUM_KV_HEADS, NUM_LAYERS = 23, 20, 8, 6, 2, 2
DROPOUT = 0.1


class MaskInputs(NamedTuple):
    """What the mask of one call depends on."""

    num_cached: int
    num_new: int
    tokens: Tensor | None  # (batch, 1, num_keys): which keys are no padding
    documents: Tensor | None  # (batch, num_keys): which document each key belongs to
    need_weights: bool  # whether the call returns the weights


class SmallLayer(nn.Module):
    """The parameters of one layer."""

    def __init__(self, sinks: bool) -> None:
        """Create the parameters; `sinks` adds a learned logit for each head."""
        super().__init__()
        self.attention_norm, self.ffn_norm = (nn.RMSNorm(EMBED_DIM, eps=1e-6) for _ in range(2))
        self.query = nn.Linear(EMBED_DIM, NUM_HEADS * HEAD_DIM)
        self.key, self.value = (nn.Linear(EMBED_DIM, NUM_KV_HEADS * HEAD_DIM, bias=False) for _ in range(2))
        self.output = nn.Linear(NUM_HEADS * HEAD_DIM, EMBED_DIM, bias=False)
        self.up, self.down = nn.Linear(EMBED_DIM, 2 * EMBED_DIM), nn.Linear(2 * EMBED_DIM, EMBED_DIM)
        self.sinks = nn.Parameter(torch.zeros(NUM_HEADS)) if sinks else None

    def feed_forward(self, x: Tensor) -> Tensor:
        """Transform each token alone."""
        output: Tensor = self.down(F.silu(self.up(x)))
        return output


class SmallDecoder(nn.Module):
    """Token ids to logits, in float64: rotary positions, grouped heads, a sliding window.

    Every method is a decision that can go wrong; a planted bug is a subclass that gets one of them wrong.

    Example:
        >>> logits, weights = SmallDecoder().eval()(torch.tensor([[3, 1, 4]]), need_weights=True)
        >>> logits.shape, weights[0].shape
        (torch.Size([1, 3, 23]), torch.Size([1, 6, 3, 3]))
    """

    options: ClassVar[dict[str, Any]] = {}  # with which it is made where a bug needs them
    embed_dim, head_dim, num_heads, num_kv_heads, num_layers = (
        EMBED_DIM, HEAD_DIM, NUM_HEADS, NUM_KV_HEADS, NUM_LAYERS,
    )  # fmt: skip

    def __init__(
        self, window: int = 4, softcap: float | None = None, sinks: bool = False, learned: bool = False
    ) -> None:
        """Create the layers; with `learned`, positions come from a table and are not rotary."""
        super().__init__()
        self.window, self.softcap, self.dropout = window, softcap, DROPOUT
        self.embedding = nn.Embedding(VOCAB_SIZE, EMBED_DIM)
        self.table = nn.Embedding(64, EMBED_DIM) if learned else None
        self.rotary: Any = nn.Identity() if learned else RotaryPositions(HEAD_DIM, pairs="halves")
        self.layers: Any = nn.ModuleList(SmallLayer(sinks) for _ in range(NUM_LAYERS))
        self.norm, self.logits = nn.RMSNorm(EMBED_DIM, eps=1e-6), nn.Linear(EMBED_DIM, VOCAB_SIZE, bias=False)

    def new_cache(self) -> DecoderCache:
        """An empty cache for one batch of sequences."""
        return DecoderCache(self.num_layers)

    def forward(
        self,
        token_ids: Tensor,
        mask: Tensor | None = None,
        cache: DecoderCache | None = None,
        positions: Tensor | None = None,
        documents: Tensor | None = None,
        need_weights: bool = False,
    ) -> Tensor | tuple[Tensor, list[Tensor]]:
        """Logits, (batch, length, vocab_size), and with `need_weights` the weights of each layer."""
        _, tokens = positions_and_mask(token_ids, mask, cache)  # which keys are no padding
        num_cached = 0 if cache is None else cache.length
        inputs = MaskInputs(num_cached, token_ids.shape[1], tokens, documents, need_weights)

        @functools.cache
        def view(decoder: SmallDecoder) -> tuple[Tensor, Tensor]:
            located = decoder.locate(token_ids, mask, cache, documents) if positions is None else positions
            return located, decoder.visible(inputs).unsqueeze(-3)  # the same for every head

        x = self.embedding(token_ids) + (0.0 if self.table is None else self.table(view(self)[0]))
        parts: list[Any] = [None] * self.num_layers if cache is None else cache.begin(self.num_layers, None)
        collected = []
        for number, (layer, part) in enumerate(zip(self.layers, parts, strict=True)):
            decoder = self.decoder_of(number)
            update, weights = decoder.attention(layer, layer.attention_norm(x), *view(decoder), part)
            x = x + update
            x = x + layer.feed_forward(layer.ffn_norm(x))
            collected.append(weights)
        if cache is not None:
            cache.finish(parts, tokens, None)
        logits: Tensor = self.logits(self.norm(x))
        return (logits, collected) if need_weights else logits

    def decoder_of(self, layer_number: int) -> "SmallDecoder":
        """The decoder whose methods compute a layer: a bug may be planted in some layers alone."""
        return self

    def attention(
        self, layer: SmallLayer, x: Tensor, positions: Tensor, visible: Tensor, cache: LayerCache | None
    ) -> tuple[Tensor, Tensor]:
        """What a layer's attention gives, and its weights, (batch, num_heads, length, num_keys)."""
        query, key, value = self.heads(layer, x)
        query, key = self.rotate(query, key, positions)
        if cache is not None:
            key, value = cache.self_attention.update(key, value)
            cache.self_attention.advance()
        key, value = self.shared(key), self.shared(value)
        weights = self.weights(self.scores(query, key), visible, layer.sinks)
        weights = self.drop(weights)
        return layer.output((weights @ value).transpose(1, 2).flatten(2)), weights

    def locate(
        self, token_ids: Tensor, mask: Tensor | None, cache: DecoderCache | None, documents: Tensor | None
    ) -> Tensor:
        """Positions, in which padding does not count."""
        if documents is not None:  # the number of earlier tokens of the same document
            return (documents[:, :, None] == documents[:, None]).tril().sum(dim=-1) - 1
        return positions_and_mask(token_ids, mask, cache)[0]

    def visible(self, inputs: MaskInputs) -> Tensor:
        """Which keys each token may see: (length, num_keys), or with a batch before."""
        rows = torch.arange(inputs.num_new)[:, None] + inputs.num_cached
        columns = torch.arange(inputs.num_cached + inputs.num_new)
        allowed = self.rule(rows, columns)
        if inputs.tokens is not None:
            allowed = allowed & inputs.tokens
        if inputs.documents is not None:
            allowed = allowed & (inputs.documents[:, :, None] == inputs.documents[:, None])
        return allowed

    def rule(self, rows: Tensor, columns: Tensor) -> Tensor:
        """Each token sees itself and those before it, `window` tokens in all."""
        return (columns <= rows) & (columns > rows - self.window)

    def heads(self, layer: SmallLayer, x: Tensor) -> list[Tensor]:
        """Queries, keys and values, each (batch, heads, length, head_dim)."""
        projected = (layer.query(x), layer.key(x), layer.value(x))
        return [torch.unflatten(each, -1, (-1, self.head_dim)).transpose(1, 2) for each in projected]

    def rotate(self, query: Tensor, key: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        """Rotate queries and keys by their positions."""
        if self.table is not None:
            return query, key
        return self.rotary(query, positions), self.rotary(key, positions)

    def shared(self, x: Tensor) -> Tensor:
        """Repeat keys or values for every query head: neighbours share one."""
        return x.repeat_interleave(self.num_heads // self.num_kv_heads, dim=1)

    def scores(self, query: Tensor, key: Tensor) -> Tensor:
        """(batch, num_heads, length, num_keys)."""
        return self.cap(query @ key.mT / self.head_dim**0.5)

    def cap(self, scores: Tensor) -> Tensor:
        """Bound the scores by `softcap`, if there is one."""
        return scores if self.softcap is None else self.softcap * torch.tanh(scores / self.softcap)

    def weights(self, scores: Tensor, visible: Tensor, sinks: Tensor | None) -> Tensor:
        """The softmax over the visible keys and the sink, of which the sink's part is left out."""
        if sinks is None:
            return masked_softmax(scores, visible)
        column = sinks[:, None, None].expand(*scores.shape[:-1], 1)
        scores, visible = torch.cat((scores, column), dim=-1), F.pad(visible, (0, 1), value=True)
        return masked_softmax(scores, visible)[..., :-1]

    def drop(self, weights: Tensor) -> Tensor:
        """Apply dropout, in training only."""
        return F.dropout(weights, self.dropout, self.training)
