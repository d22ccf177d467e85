"""A decoder that writes names, character by character; the first token is the language."""

import math
from collections.abc import Iterable
from pathlib import Path

import torch
import torch.nn.functional as F
from jaxtyping import Int64
from torch import Tensor, nn

from polyhead.checked import Size, checked
from polyhead.checkpoint import load
from polyhead.decoder import Decoder
from polyhead.embedding import TokenEmbedding
from polyhead.generation import sample
from polyhead.generation.sampling import Share, Temperature
from polyhead.positions import SinusoidalPositions
from polyhead.transformer import DecoderOnly

CHECKPOINT = Path(__file__).parent.parent / "checkpoints" / "names.safetensors"
MAX_LENGTH = 40  # characters of the longest name
PAD, END = 0, 1


class Vocabulary:
    """The numbers of the tokens: padding, the end, the languages, the characters.

    >>> vocabulary = Vocabulary(["en", "ko"], "abc")
    >>> vocabulary.tokens_of("ko", "cab")
    [3, 6, 4, 5, 1]
    """

    def __init__(self, languages: Iterable[str], characters: Iterable[str]) -> None:
        """Number the tokens in this order."""
        self.languages, self.characters = list(languages), list(characters)
        self.tokens = ["_", ".", *self.languages, *self.characters]
        self._languages = {tag: 2 + i for i, tag in enumerate(self.languages)}
        self._characters = {c: 2 + len(self.languages) + i for i, c in enumerate(self.characters)}

    def __len__(self) -> int:
        return len(self.tokens)

    def tag(self, language: str) -> int:
        """Return the token with which a name of this language begins."""
        if language not in self._languages:
            raise ValueError(f"language must be one of {', '.join(self.languages)}, got {language!r:.60}")
        return self._languages[language]

    def knows(self, name: str) -> bool:
        """Tell whether every character of the name is in the vocabulary."""
        return set(name) <= self._characters.keys()

    def tokens_of(self, language: str, name: str) -> list[int]:
        """Return the language, the characters, the end."""
        if len(name) > MAX_LENGTH:
            raise ValueError(f"names must have at most {MAX_LENGTH} characters, got {len(name)}")
        if not self.knows(name):
            unknown = "".join(sorted(set(name) - self._characters.keys()))
            raise ValueError(f"names must have characters of the vocabulary, got {name!r} with {unknown!r}")
        return [self.tag(language), *(self._characters[c] for c in name), END]

    def encode(self, language: str, names: list[str]) -> Int64[Tensor, "num_names length"]:
        """Return a row of `tokens_of` for each name, padded on the right."""
        rows = [torch.tensor(self.tokens_of(language, name)) for name in names]
        return nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=PAD)

    def decode(self, ids: Tensor) -> str:
        """Return the characters of one name before its end; `ids` has no language."""
        tokens = ids.tolist()
        return "".join(self.tokens[i] for i in tokens[: tokens.index(END) if END in tokens else None])


def make_model(vocab_size: int, dropout: float = 0.0) -> DecoderOnly:
    """Make a model with random weights: two layers of four heads, with pre-norm.

    >>> make_model(vocab_size=11)(torch.tensor([[2, 7, 5]])).shape
    torch.Size([1, 3, 11])
    """
    size = 76  # with some 1,300 characters just below 1 MB
    embedding = TokenEmbedding(vocab_size, size, SinusoidalPositions(size), scale=True, dropout=dropout)
    nn.init.normal_(embedding.tokens.weight, std=size**-0.5)
    decoder = Decoder(2, size, 4, cross_attention=False, norm_first=True, activation="gelu", dropout=dropout)
    return DecoderOnly(embedding, decoder)


class NameWriter:
    """A model with its vocabulary; `facts` tells how it was trained.

    >>> names = NameWriter().write("ko", 2, generator=torch.Generator().manual_seed(0))
    >>> len(names)
    2
    """

    def __init__(self, path: str | Path = CHECKPOINT) -> None:
        """Read a checkpoint; without a path, the one that comes with the library."""
        weights, self.facts = load(path)
        if not {"languages", "characters"} <= self.facts.keys():
            raise ValueError(f"path must be a checkpoint of polyhead_course.models.names, got {path}")
        self.vocabulary = Vocabulary(self.facts["languages"], self.facts["characters"])
        self.model = make_model(len(self.vocabulary)).eval()
        self.model.load_state_dict(weights)

    @checked
    def write(
        self,
        language: str,
        count: Size = 1,
        *,
        temperature: Temperature = 1.0,
        top_k: Size | None = None,
        top_p: Share | None = None,
        generator: torch.Generator | None = None,
    ) -> list[str]:
        """Sample names of a language; the other arguments are those of `polyhead.sample`."""
        prompts = torch.full((count, 1), self.vocabulary.tag(language))
        ids = sample(
            self.model, prompts, end_id=END, max_new_tokens=MAX_LENGTH,
            temperature=temperature, top_k=top_k, top_p=top_p, generator=generator,
        )  # fmt: skip
        return [self.vocabulary.decode(row) for row in ids]

    @torch.no_grad()
    def perplexity(self, language: str, names: list[str]) -> float:
        """Compute the exponential of the mean cross-entropy of a character; the end counts as one."""
        if not names:
            raise ValueError("names must have at least one, got none")
        ids = self.vocabulary.encode(language, names)
        logits, targets = self.model(ids[:, :-1]), ids[:, 1:]  # padding comes last: no token sees it
        return math.exp(F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=PAD))
