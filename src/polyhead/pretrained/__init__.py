"""Other people's weights in our models: BERT, GPT-2, BART, Llama, Qwen3 as Hugging Face has them, and MiniLM.

Each loader takes the state dict of the bare model, or of a model for a task, which has it under a prefix, and
the configuration, or what stands in its config.json. It gives a model in evaluation mode, with the weights'
dtype. Where the two do not fit each other, or our model, the ValueError names all that is missing, unknown or
of another shape.
"""

from polyhead.pretrained.bart import load_bart
from polyhead.pretrained.bert import load_bert
from polyhead.pretrained.gpt2 import load_gpt2
from polyhead.pretrained.llama import load_llama, make_llama
from polyhead.pretrained.minilm import MiniLM, load_minilm
from polyhead.pretrained.qwen3 import load_qwen3, make_qwen3

__all__ = [
    "MiniLM",
    "load_bart",
    "load_bert",
    "load_gpt2",
    "load_llama",
    "load_minilm",
    "load_qwen3",
    "make_llama",
    "make_qwen3",
]
