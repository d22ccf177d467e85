"""A model like MiniLM, with one layer that is not trained, and a token a word."""

from __future__ import annotations

import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit

from polyhead import Encoder, EncoderOnly, LearnedPositions, TokenEmbedding
from polyhead.pretrained import MiniLM
from polyhead_course.models.ranking import query_title_pairs


def tiny_minilm() -> MiniLM:
    """The model; its vocabulary is the words of the course's pairs."""
    torch.manual_seed(0)
    words = sorted({word for pair in query_title_pairs() for text in pair for word in text.split()})
    tokenizer = Tokenizer(WordLevel({word: number for number, word in enumerate(words)}, unk_token=words[0]))
    tokenizer.pre_tokenizer = WhitespaceSplit()
    embedding = TokenEmbedding(len(words), 384, LearnedPositions(20, 384))
    return MiniLM(EncoderOnly(embedding, Encoder(1, 384, 6, ffn_dim=7)), tokenizer).eval()
