"""Loaders of pretrained weights: BERT, GPT-2, BART, Llama and Qwen3 of Hugging Face, MiniLM, SmolLM2, GGUF.

Each loader takes a state dict, of the bare model or of a model for a task, which has it under a prefix, and
the configuration, as an object or as a dict with the contents of config.json. It returns a model in
evaluation mode, with the dtype of the weights. If they do not match each other, or our model, a ValueError
names all keys that are missing, unknown or of another shape.

Positions count tokens here, and no padding; in transformers they count padding, too, unless `position_ids`
are passed. So BERT, GPT-2 and BART give the same numbers for batches that are padded on the right.
"""

from polyhead.pretrained.bart import load_bart
from polyhead.pretrained.bert import load_bert
from polyhead.pretrained.gguf import GGUF, read_gguf
from polyhead.pretrained.gpt2 import load_gpt2
from polyhead.pretrained.llama import load_llama, make_llama
from polyhead.pretrained.minilm import MiniLM, load_minilm
from polyhead.pretrained.qwen3 import load_qwen3, make_qwen3
from polyhead.pretrained.smollm2 import SmolLM2, chat_prompt, smollm2, smollm2_path

__all__ = [
    "GGUF", "MiniLM", "SmolLM2", "chat_prompt", "load_bart", "load_bert", "load_gpt2", "load_llama",
    "load_minilm", "load_qwen3", "make_llama", "make_qwen3", "read_gguf", "smollm2",
    "smollm2_path",
]  # fmt: skip
