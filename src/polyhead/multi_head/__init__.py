"""Multi-head attention in the five forms that people write, and weights carried from one to another."""

from polyhead.multi_head.annotated import AnnotatedMultiHeadAttention
from polyhead.multi_head.convert import copy_weights
from polyhead.multi_head.fused import MultiHeadAttention
from polyhead.multi_head.looped import LoopedMultiHeadAttention
from polyhead.multi_head.split import SplitMultiHeadAttention
from polyhead.multi_head.transposed import TransposedMultiHeadAttention, transpose_output, transpose_qkv

__all__ = [
    "AnnotatedMultiHeadAttention", "LoopedMultiHeadAttention", "MultiHeadAttention",
    "SplitMultiHeadAttention", "TransposedMultiHeadAttention", "copy_weights", "transpose_output",
    "transpose_qkv",
]  # fmt: skip
