"""Polyhead: Transformer attention as small, checked pieces of code.

Every chapter of the book imports from here; `polyhead.plots` draws its figures, and is loaded only when
asked for.
"""

from polyhead.functional import attention_scores, masked_softmax, scaled_dot_product_attention
from polyhead.language import Glossary, get_language, sentence, set_language
from polyhead.masks import causal_mask, padding_mask, to_torch_mha_masks
from polyhead.multi_head import (
    AnnotatedMultiHeadAttention,
    LoopedMultiHeadAttention,
    MultiHeadAttention,
    SplitMultiHeadAttention,
    TransposedMultiHeadAttention,
    copy_weights,
    transpose_output,
    transpose_qkv,
)
from polyhead.single_head import SingleHeadAttention

__all__ = [
    "AnnotatedMultiHeadAttention",
    "Glossary",
    "LoopedMultiHeadAttention",
    "MultiHeadAttention",
    "SingleHeadAttention",
    "SplitMultiHeadAttention",
    "TransposedMultiHeadAttention",
    "attention_scores",
    "causal_mask",
    "copy_weights",
    "get_language",
    "masked_softmax",
    "padding_mask",
    "scaled_dot_product_attention",
    "sentence",
    "set_language",
    "to_torch_mha_masks",
    "transpose_output",
    "transpose_qkv",
]
