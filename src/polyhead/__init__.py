"""Polyhead: Transformer attention as small, checked pieces of code.

>>> import torch, polyhead
>>> attention = polyhead.MultiHeadAttention(embed_dim=12, num_heads=3)
>>> output, weights = attention(torch.randn(2, 5, 12), is_causal=True, need_weights=True)
>>> output.shape, weights.shape
(torch.Size([2, 5, 12]), torch.Size([2, 3, 5, 5]))

All masks are boolean, True = may attend; all tensors are batch first. For a query that may attend to nothing
the functions return zeros, and the multi-head classes the bias of their output projection.
`to_torch_mha_masks` makes PyTorch's opposite masks.

Whole models: `Transformer`, `EncoderOnly`, `DecoderOnly`, `EncoderDecoder`. Not imported here:
`polyhead.pretrained` (public weights), `polyhead.training`, `polyhead.heads`, `polyhead.checkpoint`,
`polyhead.processes`. `MultiHeadAttention` is the form to use; the four classes whose names end alike compute
the same as other authors write it.

Bad input is refused before anything is computed. TypeError: an argument has the wrong type or dtype.
ValueError: a shape does not fit, a number is out of range, or arguments contradict each other. Each message
names the argument, what was expected, and what came. The numbers in floating tensors are not checked: NaN
propagates as usual, but nothing that a mask hides from every query reaches outputs or gradients.
Only with a cache must all inputs be finite: a later query may see what is hidden now.
FloatingPointError: in generation the logits have NaN or no finite maximum; in training a loss is not finite.
"""

from polyhead.cache import DecoderCache, KVCache
from polyhead.decoder import Decoder, DecoderLayer
from polyhead.embedding import TokenEmbedding
from polyhead.encoder import Encoder, EncoderLayer
from polyhead.feed_forward import FeedForward, GatedFeedForward
from polyhead.functional import attention_scores, masked_softmax, scaled_dot_product_attention
from polyhead.generation import accept_drafts, beam_search, greedy_decode, next_token_probs, sample
from polyhead.masks import causal_mask, document_mask, padding_mask, to_torch_mha_masks, window_mask
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
from polyhead.norms import RMSNorm
from polyhead.positions import LearnedPositions, Llama3Scaling, RotaryPositions, SinusoidalPositions
from polyhead.residual import Residual
from polyhead.single_head import SingleHeadAttention
from polyhead.transformer import DecoderOnly, EncoderDecoder, EncoderOnly, Transformer

__all__ = [
    "AnnotatedMultiHeadAttention", "Decoder", "DecoderCache", "DecoderLayer", "DecoderOnly", "Encoder",
    "EncoderDecoder", "EncoderLayer", "EncoderOnly", "FeedForward", "GatedFeedForward", "KVCache",
    "LearnedPositions", "Llama3Scaling", "LoopedMultiHeadAttention", "MultiHeadAttention", "RMSNorm",
    "Residual", "RotaryPositions", "SingleHeadAttention", "SinusoidalPositions",
    "SplitMultiHeadAttention", "TokenEmbedding", "Transformer", "TransposedMultiHeadAttention",
    "accept_drafts", "attention_scores", "beam_search", "causal_mask", "copy_weights", "document_mask",
    "greedy_decode", "masked_softmax", "next_token_probs", "padding_mask", "sample",
    "scaled_dot_product_attention", "to_torch_mha_masks", "transpose_output", "transpose_qkv", "window_mask",
]  # fmt: skip
