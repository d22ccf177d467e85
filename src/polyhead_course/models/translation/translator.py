"""The translator: a small Transformer between two vocabularies, its loss, its recipe, and its decoding."""

import functools
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float, Integer
from torch import Tensor, nn

from polyhead.checked import Count, Size, checked
from polyhead.checkpoint import load, save
from polyhead.generation import greedy_decode
from polyhead.training import Loss, Recipe
from polyhead.transformer import Transformer
from polyhead_course.models.translation.dates import Pair, Target, read_date, tokens_of

CHECKPOINT = Path(__file__).parents[1] / "checkpoints" / "translator.safetensors"
SPECIAL = ("<pad>", "<s>", "</s>")
PAD, START, END = range(3)
LONGEST = 32  # characters and the end; "2026년 11월 20일 금요일" has 17
NUM_PAIRS, STEPS = 30_000, 1_200  # with which `experiments/translator.py` trains it


class Translation(NamedTuple):
    """A translated text, with the cross-attention of each character.

    Attributes:
        text: the translation
        source_tokens: the tag of the language, then the tokens of the English date
        target_tokens: the characters of the text
        weights: the last layer's cross-attention, the heads' mean

    >>> translate("Nov 20, 2026", "ko").source_tokens
    ('<ko>', 'Nov', '2', '0', ',', '2', '0', '2', '6')
    """

    text: str
    source_tokens: tuple[str, ...]
    target_tokens: tuple[str, ...]
    weights: Float[Tensor, "num_target num_source"]


class Vocabulary:
    """The tokens of one side of the model, each with its id.

    >>> vocabulary = Vocabulary.of(["ab", "ac"])
    >>> vocabulary.ids(["cab", "b"])
    tensor([[5, 3, 4],
            [4, 0, 0]])
    """

    def __init__(self, tokens: Iterable[str]) -> None:
        """Number the tokens in this order: their ids."""
        self.tokens = list(tokens)
        self.id_of = {token: index for index, token in enumerate(self.tokens)}

    @classmethod
    def of(cls, sequences: Iterable[Sequence[str]]) -> "Vocabulary":
        """Make a vocabulary of the special tokens and all tokens of the sequences."""
        return cls([*SPECIAL, *sorted({token for sequence in sequences for token in sequence} - {*SPECIAL})])

    def ids(self, sequences: Iterable[Sequence[str]]) -> Integer[Tensor, "batch length"]:
        """Return the ids of the sequences, padded on the right."""
        rows = [torch.tensor([self.id_of[token] for token in sequence]) for sequence in sequences]
        return nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=PAD)

    def words(self, ids: Integer[Tensor, "length"]) -> tuple[str, ...]:
        """Return the tokens of a row of ids, up to its end."""
        row = ids.tolist()
        return tuple(self.tokens[index] for index in row[: row.index(END) if END in row else None])


def source_tokens(text: str, to: Target) -> tuple[str, ...]:
    """Return the encoder's input: the tag of the target language, then the tokens of the English text.

    >>> source_tokens("5 May 2026", "ko")
    ('<ko>', '5', 'May', '2', '0', '2', '6')
    """
    return (f"<{to}>", *tokens_of(text))


def target_tokens(text: str) -> tuple[str, ...]:
    """Return the decoder's tokens: characters, spaces included, between a start and an end.

    >>> target_tokens("5일")
    ('<s>', '5', '일', '</s>')
    """
    return (SPECIAL[START], *text, SPECIAL[END])


class Translator:
    """A model between two vocabularies; `facts` tells how it was trained.

    >>> translator = load_translator()
    >>> translator.translate("Nov 20, 2026", "ko").text
    '2026. 11. 20.'
    """

    def __init__(self, source: Vocabulary, target: Vocabulary) -> None:
        """Make an untrained model: pre-norm, 4 heads of 16 dimensions, 2 + 2 layers."""
        self.source, self.target = source, target
        self.facts: dict[str, Any] = {}
        # Without dropout the translations are as good, but the encoder copies the weekday to the comma after
        # it, and the decoder often attends to that.
        self.model = Transformer(
            len(source.tokens), len(target.tokens), embed_dim=64, num_heads=4,
            num_encoder_layers=2, num_decoder_layers=2, norm_first=True, dropout=0.1,
        )  # fmt: skip

    @classmethod
    def of(cls, pairs: Sequence[Pair]) -> "Translator":
        """Make an untrained translator with the vocabularies of these pairs."""
        sources = (source_tokens(pair.source, pair.to) for pair in pairs)
        return cls(Vocabulary.of(sources), Vocabulary.of(target_tokens(pair.target) for pair in pairs))

    @classmethod
    def load(cls, path: str | Path) -> "Translator":
        """Read a file that `save` wrote."""
        weights, facts = load(path)
        if not {"source_tokens", "target_tokens"} <= facts.keys():
            raise ValueError(f"path must be a checkpoint of polyhead_course.models.translation, got {path}")
        translator = cls(Vocabulary(facts.pop("source_tokens")), Vocabulary(facts.pop("target_tokens")))
        translator.model.load_state_dict(weights)
        translator.model.eval()
        translator.facts = facts
        return translator

    def save(self, path: str | Path) -> None:
        """Write weights, vocabularies and facts into one file."""
        tokens = {"source_tokens": self.source.tokens, "target_tokens": self.target.tokens}
        save(path, self.model, {**self.facts, **tokens})

    def ids(self, pairs: Sequence[Pair]) -> tuple[Tensor, Tensor]:
        """Return the ids of both sides, each (batch, length), on the model's device."""
        sources = self.source.ids(source_tokens(pair.source, pair.to) for pair in pairs)
        targets = self.target.ids(target_tokens(pair.target) for pair in pairs)
        return sources.to(self._device), targets.to(self._device)

    def loss(self, pairs: Sequence[Pair]) -> Loss:
        """Return the loss for `training.train`: the summed cross-entropy of the targets' next characters."""
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
        """Translate a batch by greedy decoding: each row is a start, then characters up to an end."""
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
        """Return each layer's weights, (batch, num_heads, num_target, num_source), for this target.

        A row belongs to the character that the decoder predicts there, not to the one that it reads.
        """
        return self.model.attention_weights(source_ids, target_ids[:, :-1], source_ids != PAD).cross

    @checked
    def translate(self, text: str, to: Target) -> Translation:
        """Translate one English date, like the function `translate`."""
        read_date(text)
        source = source_tokens(text, to)
        source_ids = self.source.ids([source]).to(self._device)
        target_ids = self.write(source_ids)
        target = self.target.words(target_ids[0, 1:])
        weights = self.cross_attention(source_ids, target_ids)[-1][0].mean(dim=0)  # over the heads
        return Translation("".join(target), source, target, weights[: len(target)])

    @property
    def _device(self) -> torch.device:
        return next(self.model.parameters()).device


@checked
def recipe(steps: Size = STEPS, seed: Count = 0) -> Recipe:
    """Return the recipe of the committed checkpoint, or the same with other steps and another seed.

    >>> recipe(steps=600).warmup
    60
    """
    return Recipe(
        steps=steps, batch_size=64, learning_rate=3e-3, warmup=steps // 10, weight_decay=0.01,
        betas=(0.9, 0.98), seed=seed,
    )  # fmt: skip


@functools.cache
def load_translator() -> Translator:
    """Load the translator that comes with the package, once.

    >>> load_translator().facts["recipe"]["batch_size"]
    64
    """
    return Translator.load(CHECKPOINT)


@checked
def translate(text: str, to: Target) -> Translation:
    """Translate an English date, such as "Friday, November 20, 2026", into `to`: "zh-TW", "zh-CN" or "ko".

    Raises:
        ValueError: the text is no date; see `read_date`.

    >>> translate("Friday, November 20, 2026", "ko").text
    '2026년 11월 20일 금요일'
    """
    return load_translator().translate(text, to)
