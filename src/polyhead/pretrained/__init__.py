"""Other people's weights in our models: BERT, GPT-2, BART as Hugging Face stores them, and MiniLM."""

from polyhead.pretrained.bart import load_bart
from polyhead.pretrained.bert import load_bert
from polyhead.pretrained.gpt2 import load_gpt2
from polyhead.pretrained.minilm import MiniLM, load_minilm

__all__ = ["MiniLM", "load_bart", "load_bert", "load_gpt2", "load_minilm"]
