"""Bugs planted in a small decoder, one each; every one has a public relative."""

# ruff: noqa: D102  (the class says what its method does)

from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from attention_clinic.small import DROPOUT, MaskInputs, SmallDecoder, SmallLayer
from polyhead.positions import RotaryPositions

Right = SmallDecoder


class Planted(SmallDecoder):
    """A decoder with a bug; `options` are those that its right form has, too."""


class CausalInverted(Planted):
    """The mask is the wrong way round: each token sees the future alone."""

    def rule(self, rows: Tensor, columns: Tensor) -> Tensor:
        return columns > rows


class SeesAhead(Planted):
    """The triangle is shifted by one."""

    def rule(self, rows: Tensor, columns: Tensor) -> Tensor:
        return (columns <= rows + 1) & (columns > rows - self.window)


class CausalStrict(Planted):
    """No token sees itself."""

    def rule(self, rows: Tensor, columns: Tensor) -> Tensor:
        return (columns < rows) & (columns > rows - self.window)


class WindowOneMore(Planted):
    """The window's first key is counted inclusively."""

    def rule(self, rows: Tensor, columns: Tensor) -> Tensor:
        return (columns <= rows) & (columns >= rows - self.window)


class CausalTrainOnly(Planted):
    """The mask is made in training alone."""

    def rule(self, rows: Tensor, columns: Tensor) -> Tensor:
        return Right.rule(self, rows, columns) | (not self.training)


class CausalEvalOnly(Planted):
    """The mask is made in evaluation alone."""

    def rule(self, rows: Tensor, columns: Tensor) -> Tensor:
        return Right.rule(self, rows, columns) | self.training


class CacheUpperLeft(Planted):
    """The mask of new tokens is aligned at the upper left, as if there were none before them."""

    def visible(self, inputs: MaskInputs) -> Tensor:
        rows, columns = torch.arange(inputs.num_new), torch.arange(inputs.num_cached + inputs.num_new)
        return self.rule(rows[:, None], columns) if inputs.num_cached else Right.visible(self, inputs)


class CacheOpen(Planted):
    """With a cache no future is hidden: right for one new token."""

    def visible(self, inputs: MaskInputs) -> Tensor:
        rows = torch.arange(inputs.num_new)[:, None] + inputs.num_cached
        columns = torch.arange(inputs.num_cached + inputs.num_new)
        return columns > rows - self.window if inputs.num_cached else Right.visible(self, inputs)


class CacheTrimmed(Planted):
    """The cache is cut to the window before the new tokens use it."""

    def visible(self, inputs: MaskInputs) -> Tensor:
        columns = torch.arange(inputs.num_cached + inputs.num_new)
        recent = columns >= inputs.num_cached + inputs.num_new - self.window
        return Right.visible(self, inputs) & (recent | (inputs.num_cached == 0))


class CachePositions(Planted):
    """New tokens are counted from 0."""

    def locate(self, token_ids: Tensor, mask: Tensor | None, cache: Any, documents: Any) -> Tensor:
        return Right.locate(self, token_ids, mask, None, documents)


class PositionsIgnorePadding(Planted):
    """Positions are columns, wherever the text begins."""

    options: ClassVar = {"learned": True}

    def locate(self, token_ids: Tensor, mask: Tensor | None, cache: Any, documents: Any) -> Tensor:
        return Right.locate(self, token_ids, None, cache, documents)


class PaddingIgnored(Planted):
    """The padding's mask is never passed on."""

    def visible(self, inputs: MaskInputs) -> Tensor:
        return Right.visible(self, inputs._replace(tokens=None))


class PaddingReplacesCausal(Planted):
    """Where there is a mask of padding, it is the only one."""

    def visible(self, inputs: MaskInputs) -> Tensor:
        causal = Right.visible(self, inputs)
        return causal if inputs.tokens is None else inputs.tokens.expand_as(causal)


class MaskNan(Planted):
    """A row without a visible key goes into a plain softmax."""

    def weights(self, scores: Tensor, visible: Tensor, sinks: Tensor | None) -> Tensor:
        return torch.softmax(scores.masked_fill(~visible, -torch.inf), dim=-1)


class WeightsChangeOutput(Planted):
    """The code path that returns the weights has no mask."""

    def visible(self, inputs: MaskInputs) -> Tensor:
        return Right.visible(self, inputs) | inputs.need_weights


class DocumentsLeak(Planted):
    """Positions begin anew with each document, but nothing keeps documents apart."""

    def visible(self, inputs: MaskInputs) -> Tensor:
        return Right.visible(self, inputs._replace(documents=None))


class BatchMixed(Planted):
    """A mask of (batch, length, num_keys) lands on the heads where both are as many."""

    def weights(self, scores: Tensor, visible: Tensor, sinks: Tensor | None) -> Tensor:
        mixed = visible.transpose(0, -3) if len(visible) == self.num_heads else visible
        return Right.weights(self, scores, mixed, sinks)


class DropoutInEval(Planted):
    """Dropout is applied without regard to the mode."""

    def drop(self, weights: Tensor) -> Tensor:
        return F.dropout(weights, DROPOUT)


class RotaryQueriesOnly(Planted):
    """Keys are not turned."""

    def rotate(self, query: Tensor, key: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        return self.rotary(query, positions), key


class PositionsLowPrecision(Planted):
    """Positions pass through bfloat16, which has no 257."""

    def rotate(self, query: Tensor, key: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        return Right.rotate(self, query, key, positions.bfloat16().long())


class RotaryLayout(Planted):
    """Neighbours are paired where the weights were made for halves."""

    def rotate(self, query: Tensor, key: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        rotary = RotaryPositions(self.head_dim, self.rotary.base, "neighbours")
        return rotary(query, positions), rotary(key, positions)


class KvTiled(Planted):
    """All key heads are repeated one after another, not each on its own."""

    def shared(self, x: Tensor) -> Tensor:
        return x.repeat(1, self.num_heads // self.num_kv_heads, 1, 1)


class Unscaled(Planted):
    """No root."""

    def scores(self, query: Tensor, key: Tensor) -> Tensor:
        return self.cap(query @ key.mT)


class ModelRoot(Planted):
    """The root of the model's size instead of the head's."""

    def scores(self, query: Tensor, key: Tensor) -> Tensor:
        return self.cap(query @ key.mT / self.embed_dim**0.5)


class SoftcapMissing(Planted):
    """The cap goes to a function that does not know the argument."""

    options: ClassVar = {"softcap": 1.0}

    def cap(self, scores: Tensor) -> Tensor:
        return scores


class SinksMissing(Planted):
    """The sinks go to a function that does not know the argument."""

    options: ClassVar = {"sinks": True}

    def weights(self, scores: Tensor, visible: Tensor, sinks: Tensor | None) -> Tensor:
        return Right.weights(self, scores, visible, None)


class QueryBiasMissing(Planted):
    """The bias is left behind when the weights are loaded."""

    def heads(self, layer: SmallLayer, x: Tensor) -> list[Tensor]:
        query, key, value = Right.heads(self, layer, x)
        bias = torch.unflatten(layer.query.bias, -1, (-1, 1, self.head_dim))
        return [query - bias, key, value]
