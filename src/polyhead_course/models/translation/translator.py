"""The translator: a small Transformer between two vocabularies, how it is asked, and how it learns."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float, Integer
from torch import Tensor, nn

from polyhead.checked import checked
from polyhead.checkpoint import load, save
from polyhead.generation import greedy_decode
from polyhead.training import Loss
from polyhead.transformer import Transformer
from polyhead_course.models.translation.dates import read_date, tokens_of
from polyhead_course.models.translation.pairs import Pair, Target

CHECKPOINT = Path(__file__).parents[1] / "checkpoints" / "translator.safetensors"
SPECIAL = ("<pad>", "<s>", "</s>")
PAD, START, END = range(3)
LONGEST = 32  # characters and the end; "2026년 11월 20일 금요일" has 17


class Translation(NamedTuple):
    """A text, and where the model looked when it wrote each character.

    Attributes:
        target_tokens: the characters of the text
        weights: the last layer's cross-attention, the heads' mean
    """

    text: str
    source_tokens: tuple[str, ...]
    target_tokens: tuple[str, ...]
    weights: Float[Tensor, "num_target num_source"]


class Vocabulary:
    """The tokens that one side of the model knows, each with its number."""

    def __init__(self, tokens: Iterable[str]) -> None:
        """Take the tokens in the order of their numbers."""
        self.tokens = list(tokens)
        self.numbers = {token: number for number, token in enumerate(self.tokens)}

    @classmethod
    def of(cls, sequences: Iterable[Sequence[str]]) -> Vocabulary:
        """All tokens of the sequences, behind the special ones."""
        return cls([*SPECIAL, *sorted({token for sequence in sequences for token in sequence} - {*SPECIAL})])

    def ids(self, sequences: Iterable[Sequence[str]]) -> Integer[Tensor, "batch length"]:
        """The sequences' numbers, filled up on the right with padding."""
        rows = [torch.tensor([self.numbers[token] for token in sequence]) for sequence in sequences]
        return nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=PAD)

    def words(self, ids: Integer[Tensor, "length"]) -> tuple[str, ...]:
        """The tokens of a row, up to its end."""
        row = ids.tolist()
        return tuple(self.tokens[number] for number in row[: row.index(END) if END in row else None])


def source_tokens(text: str, to: Target) -> tuple[str, ...]:
    """What the encoder reads: the tag of the language to write, then the tokens of the English text."""
    return (f"<{to}>", *tokens_of(text))


def target_tokens(text: str) -> tuple[str, ...]:
    """What the decoder writes, between a start and an end: characters, the space among them."""
    return (SPECIAL[START], *text, SPECIAL[END])


class Translator:
    """A model between two vocabularies; `facts` says how it was trained."""

    def __init__(self, source: Vocabulary, target: Vocabulary) -> None:
        """Make a model that is not trained: pre-norm, 4 heads of 16 dimensions, 2 + 2 layers."""
        self.source, self.target = source, target
        self.facts: dict[str, Any] = {}
        # Without dropout the translations are as good, but the weekday is often read at the comma behind it,
        # where the encoder leaves a copy.
        self.model = Transformer(
            len(source.tokens), len(target.tokens), 64, 4, 2, 2, norm_first=True, dropout=0.1
        )

    @classmethod
    def of(cls, pairs: Sequence[Pair]) -> Translator:
        """One that is not trained, with the vocabularies of these pairs."""
        sources = (source_tokens(pair.source, pair.to) for pair in pairs)
        return cls(Vocabulary.of(sources), Vocabulary.of(target_tokens(pair.target) for pair in pairs))

    @classmethod
    def load(cls, path: str | Path) -> Translator:
        """Read what `save` wrote."""
        weights, facts = load(path)
        if not {"source_tokens", "target_tokens"} <= facts.keys():
            raise ValueError(f"path must be a file of a translator, got {path}")
        loaded = cls(Vocabulary(facts.pop("source_tokens")), Vocabulary(facts.pop("target_tokens")))
        loaded.model.load_state_dict(weights)
        loaded.model.eval()
        loaded.facts = facts
        return loaded

    def save(self, path: str | Path) -> None:
        """Write weights, vocabularies and facts into one file."""
        words = {"source_tokens": self.source.tokens, "target_tokens": self.target.tokens}
        save(path, self.model, {**self.facts, **words})

    def ids(self, pairs: Sequence[Pair]) -> tuple[Tensor, Tensor]:
        """The numbers of both sides, each (batch, length), on the model's device."""
        sources = self.source.ids(source_tokens(pair.source, pair.to) for pair in pairs)
        targets = self.target.ids(target_tokens(pair.target) for pair in pairs)
        return sources.to(self._device), targets.to(self._device)

    def loss(self, pairs: Sequence[Pair]) -> Loss:
        """The cross-entropy of each next character of the target, summed: what `training.train` asks for."""
        sources, targets = self.ids(pairs)

        def loss(model: nn.Module, rows: Tensor) -> tuple[Tensor, Tensor]:
            source, target = sources[rows], targets[rows]
            logits = model(source, target[:, :-1], source != PAD)  # (batch, target_length - 1, vocab_size)
            next_ids = target[:, 1:]
            total = F.cross_entropy(logits.mT, next_ids, ignore_index=PAD, reduction="sum")
            return total, (next_ids != PAD).sum()

        return loss

    def write(
        self, source_ids: Integer[Tensor, "batch source_length"]
    ) -> Integer[Tensor, "batch target_length"]:
        """The translations of a batch by greedy decoding: a start, then characters up to an end."""
        starts = torch.full_like(source_ids[:, :1], START)
        new = greedy_decode(
            self.model, starts, end_id=END, max_new_tokens=LONGEST,
            source_ids=source_ids, source_mask=source_ids != PAD,
        )  # fmt: skip
        return torch.cat((starts, new), dim=1)

    @torch.no_grad()
    def cross_attention(
        self,
        source_ids: Integer[Tensor, "batch source_length"],
        target_ids: Integer[Tensor, "batch target_length"],
    ) -> tuple[Tensor, ...]:
        """Each layer's weights, (batch, num_heads, num_target, num_source), when that target is written.

        A row belongs to the character that is written there, not to the one before it, which is read.
        """
        return self.model.attention_weights(source_ids, target_ids[:, :-1], source_ids != PAD).cross

    @checked
    def translate(self, text: str, to: Target) -> Translation:
        """Translate one English date; as the function `translate`."""
        read_date(text)
        read = source_tokens(text, to)
        source_ids = self.source.ids([read]).to(self._device)
        target_ids = self.write(source_ids)
        written = self.target.words(target_ids[0, 1:])
        weights = self.cross_attention(source_ids, target_ids)[-1][0].mean(dim=0)  # over the heads
        return Translation("".join(written), read, written, weights[: len(written)])

    @property
    def _device(self) -> torch.device:
        return next(self.model.parameters()).device


@functools.cache
def load_translator() -> Translator:
    """The translator that comes with the package."""
    return Translator.load(CHECKPOINT)


@checked
def translate(text: str, to: Target) -> Translation:
    """Translate an English date, such as "Friday, November 20, 2026", into the language `to`.

    Raises:
        ValueError: the text is not understood, and why; see `read_date`.
    """
    return load_translator().translate(text, to)
