"""More decoders, wrong and right: torch's encoder, transformers' models, and some without positions."""

from __future__ import annotations

import functools

import torch
import torch.nn.functional as F
from torch import nn

import polyhead
from tests.attention_clinic.clinic_cases.case import right, wrong
from tests.attention_clinic.clinic_cases.decoders import VOCAB, Nano, TinyLlama
from tests.attention_clinic.clinic_cases.right_modules import TorchEncoder, Wrapped
from tests.attention_clinic.clinic_cases.wrong_decoders import books

decoder = functools.partial(wrong, kind="decoder", made=True)
healthy = functools.partial(right, "decoder", made=True)


# ---- torch's encoder in the place of a decoder: which mask it gets


@decoder("sees_ahead|causal_open")
class WithoutMask(TorchEncoder):
    def forward(self, token_ids):
        return self.head(self.layers(self.embedded(token_ids)))


@decoder("causal_inverted|mask_inverted", also=("sees_ahead", "causal_open"))
class PastHidden(TorchEncoder):
    """True lets torch's modules ignore a token: here it is the past."""

    def forward(self, token_ids):
        length = token_ids.shape[1]
        hidden = torch.ones(length, length).tril(-1).bool()
        return self.head(self.layers(self.embedded(token_ids), mask=hidden))


@decoder("causal_train_only", also=("sees_ahead",))
class MaskForTraining(TorchEncoder):
    def forward(self, token_ids):
        length = token_ids.shape[1]
        hidden = nn.Transformer.generate_square_subsequent_mask(length) if self.training else None
        return self.head(self.layers(self.embedded(token_ids), mask=hidden))


@decoder("sees_ahead|causal_open")
class NormOverTime(TorchEncoder):
    """The mask is right; mean and spread of the whole sequence are in every token."""

    def embedded(self, ids):
        x = super().embedded(ids)
        centred = x - x.mean(1, keepdim=True)
        return centred / (centred.square().mean(1, keepdim=True) + 1e-3).sqrt()


# ---- what enters before the attention


@decoder("sees_ahead")
class Smoothed(Nano):
    def embed(self, ids, positions):
        x = super().embed(ids, positions)
        return x + 0.5 * F.pad(x, (0, 0, 0, 1))[:, 1:]


@decoder("batch_mixed")
class FirstOfAll(Nano):
    def embed(self, ids, positions):
        return super().embed(ids, positions) + 0.3 * self.wte(ids[:1])


@decoder("dropout_in_eval", "sees_ahead", also=("not_deterministic",))
class DropsAndLooks(Nano):
    def causal(self, new, old):
        return torch.ones(new, old + new, dtype=torch.bool).tril(old + 1)

    def residual(self, x, update):
        return x + F.dropout(update, 0.2)


class LargerQueries(polyhead.MultiHeadAttention):
    def forward(self, query, *arguments, **options):
        key = options.pop("key", query)
        return super().forward(1.5 * query, key, *arguments, **options)


@decoder("differs|unscaled")
def larger_queries():
    return books(LargerQueries)


# ---- transformers' models


def large(name, **sizes):
    """One of its models, with parameters that are not small."""
    from tests.polyhead.hugging_face import transformers

    sizes = {"intermediate_size": 31, "num_key_value_heads": 2, "num_attention_heads": 6} | sizes
    config = getattr(transformers, f"{name}Config")(
        vocab_size=VOCAB, hidden_size=24, num_hidden_layers=2, **sizes
    )
    model = getattr(transformers, f"{name}ForCausalLM")(config).double()
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.3)
    return model


@decoder("cache_positions")
class PlacesAnew(Wrapped):
    def __init__(self):
        super().__init__(large("Llama"))

    def places(self, mask, new):
        return torch.arange(new).expand(len(mask), -1)


# huggingface/transformers#18388
@decoder("positions_ignore_padding")
class PlacesCountPadding(Wrapped):
    def __init__(self):
        from tests.polyhead.hugging_face import transformers

        config = transformers.GPT2Config(vocab_size=VOCAB, n_embd=18, n_layer=2, n_head=3, n_positions=64)
        super().__init__(transformers.GPT2LMHeadModel(config).double())

    def places(self, mask, new):
        return torch.arange(mask.shape[1] - new, mask.shape[1]).expand(len(mask), -1)


@healthy()
def transformers_qwen3():
    return Wrapped(large("Qwen3", head_dim=8))


@healthy()
def transformers_mistral():
    return Wrapped(large("Mistral"))


# ---- right, and other than most


@healthy()
class NoPositions(Nano):
    """The causal mask alone tells where a token is."""

    def embed(self, ids, positions):
        return self.wte(ids)


@healthy()
class Alibi(NoPositions):
    def attend(self, q, k, v, visible):
        places = torch.arange(k.shape[2])
        distance = places[-q.shape[2] :, None] - places
        slopes = 2.0 ** -torch.arange(1, self.heads + 1)[:, None, None]
        scores = q @ k.mT / q.shape[-1] ** 0.5 - slopes * distance
        return scores.masked_fill(~visible, torch.finfo(q.dtype).min).softmax(-1) @ v


@healthy()
class Windowed(TinyLlama):
    """Three tokens, itself included."""

    def causal(self, new, old):
        return torch.ones(new, old + new, dtype=torch.bool).tril(old).triu(old - 2)


@healthy()
class Recurrent(nn.Module):
    """No attention at all, and causal by nature."""

    def __init__(self):
        super().__init__()
        self.embed, self.cell = nn.Embedding(VOCAB, 12), nn.GRU(12, 12, batch_first=True)
        self.head = nn.Linear(12, VOCAB)

    def forward(self, token_ids):
        return self.head(self.cell(self.embed(token_ids))[0])


@healthy()
def sinusoidal_post_norm():
    embedding = polyhead.TokenEmbedding(VOCAB, 14, polyhead.SinusoidalPositions(14))
    layers = polyhead.Decoder(2, 14, 2, cross_attention=False, ffn_dim=17, dropout=0.1)
    return polyhead.DecoderOnly(embedding, layers).double().eval()
