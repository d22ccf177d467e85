"""RMSNorm and the gated feed-forward network: by hand, and against PyTorch's and transformers' own."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from polyhead import GatedFeedForward, Residual, RMSNorm
from tests.polyhead.hugging_face import transformers
from tests.polyhead.torch_twins import stirred

LlamaRMSNorm = transformers.models.llama.modeling_llama.LlamaRMSNorm
LlamaMLP = transformers.models.llama.modeling_llama.LlamaMLP
BATCH, LENGTH, SIZE = 3, 5, 7


# ---- RMSNorm


def test_by_hand():
    """√((9 + 16 + 0 + 0) / 4 + 0) = 2.5: no mean is taken away."""
    norm = RMSNorm(4, eps=1e-30).double()
    x = torch.tensor([[3.0, 4.0, 0.0, 0.0]]).double()
    assert_close(norm(x), torch.tensor([[1.2, 1.6, 0.0, 0.0]]).double())
    with torch.no_grad():
        norm.weight.copy_(torch.tensor([1.0, -2.0, 3.0, 5.0]))
    assert_close(norm(x), torch.tensor([[1.2, -3.2, 0.0, 0.0]]).double())


def test_as_pytorchs():
    norm, x = stirred(RMSNorm(SIZE, eps=0.3)), torch.randn(BATCH, LENGTH, SIZE).double()
    assert_close(norm(x), F.rms_norm(x, (SIZE,), norm.weight, eps=0.3))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32], ids=str)
def test_bit_by_bit_as_llamas(dtype):
    """In half precision the order shows: the weight comes after the rounding."""
    norm, x = stirred(RMSNorm(SIZE, eps=1e-5)).to(dtype), torch.randn(97, SIZE).to(dtype)
    theirs = LlamaRMSNorm(SIZE, eps=1e-5).to(dtype)
    theirs.load_state_dict(norm.state_dict())
    assert torch.equal(norm(x), theirs(x))
    exact = x.float() * torch.rsqrt(x.float().square().mean(-1, keepdim=True) + 1e-5)
    weight_first = (norm.weight.float() * exact).to(dtype)
    assert torch.equal(norm(x), weight_first) == (dtype == torch.float32)


def test_large_half_precision_numbers_do_not_overflow():
    x = torch.tensor([[6e4, -6e4]], dtype=torch.float16)
    assert_close(RMSNorm(2).half()(x), torch.tensor([[1.0, -1.0]]).half())


def test_zeros_stay_zeros_with_a_gradient():
    x = torch.zeros(1, SIZE, dtype=torch.float64, requires_grad=True)
    RMSNorm(SIZE).double()(x).sum().backward()
    assert torch.isfinite(x.grad).all()


def test_keeps_the_dtype_under_autocast():
    with torch.autocast("cpu", torch.bfloat16):
        assert RMSNorm(SIZE)(torch.randn(2, SIZE).bfloat16()).dtype == torch.bfloat16


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: RMSNorm(0), ValueError, "size.*at least 1.*0"),
        (lambda: RMSNorm(3, eps=0.0), ValueError, "eps.*above 0.*0.0"),
        (lambda: RMSNorm(3)(torch.ones(2, 5)), ValueError, r"size = 3.*\(2, 5\)"),
        (lambda: RMSNorm(3)(torch.ones(2, 3).double()), TypeError, "float32.*float64"),
        (lambda: Residual(3, norm="batch"), ValueError, "norm.*'layer', 'rms'.*'batch'"),
    ],
)
def test_refused(call, error, message):
    with pytest.raises(error, match=rf"\b({message})"):
        call()


@pytest.mark.parametrize("norm_first", [False, True])
def test_residual_with_either_norm(norm_first):
    x, update = torch.randn(2, BATCH, SIZE).double().unbind()
    residual = stirred(Residual(SIZE, norm_first, layer_norm_eps=0.3, norm="rms"))
    norm = residual.norm
    assert (type(norm), norm.eps) == (RMSNorm, 0.3)
    assert_close(residual.enter(x), norm(x) if norm_first else x)
    assert_close(residual.leave(x, update), x + update if norm_first else norm(x + update))
    assert type(Residual(SIZE).norm) is torch.nn.LayerNorm


# ---- the gated feed-forward network


def test_swiglu_by_hand():
    """silu(2) · 3 = 2 · sigmoid(2) · 3, times 5."""
    network = GatedFeedForward(1, 1).double()
    with torch.no_grad():
        for layer, number in ((network.gate, 2.0), (network.expand, 3.0), (network.contract, 5.0)):
            layer.weight.fill_(number)
    expected = torch.tensor([[2 * 0.8807970780 * 3 * 5]], dtype=torch.float64)
    assert_close(network(torch.ones(1, 1).double()), expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize("bias", [False, True])
def test_as_llamas(bias):
    sizes = {"hidden_size": SIZE, "intermediate_size": 11, "num_attention_heads": 1, "head_dim": 2}
    config = transformers.LlamaConfig(**sizes, mlp_bias=bias)
    theirs, ours = LlamaMLP(config).double(), stirred(GatedFeedForward(SIZE, 11, bias=bias))
    names = {"gate": "gate_proj", "expand": "up_proj", "contract": "down_proj"}
    for name, their in names.items():
        theirs.get_submodule(their).load_state_dict(ours.get_submodule(name).state_dict())
    x = torch.randn(BATCH, LENGTH, SIZE).double()
    assert_close(ours(x), theirs(x))


def test_dropout_acts_on_the_hidden_numbers():
    network = GatedFeedForward(SIZE, 11, dropout=1.0, bias=True).double()
    x = torch.randn(LENGTH, SIZE).double()
    assert_close(network(x), network.contract.bias.expand(LENGTH, -1))
    assert not torch.isclose(network.eval()(x), network.contract.bias).all()
