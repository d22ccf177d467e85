from __future__ import annotations

import itertools
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from polyhead import Decoder, Encoder, LearnedPositions, Llama3Scaling, RotaryPositions, SinusoidalPositions
from polyhead import positions as positions_module
from polyhead.positions import share_rotations
from tests.polyhead.hugging_face import transformers

BATCH, HEADS, LENGTH, DIM, MAX_LENGTH = 2, 3, 5, 14, 11
INTEGERS = [torch.int64, torch.int32, torch.int16, torch.int8]
far_positions = st.lists(st.integers(0, 10**6), min_size=1, max_size=7)
even = st.integers(1, 9).map(lambda half: 2 * half)
ANGLES = positions_module._angles
bases = st.sampled_from([2.0, 100.0, 10_000.0, 500_000.0])


def waves(positions: torch.Tensor, dim: int, base: float = 10_000.0) -> torch.Tensor:
    """P alone."""
    zeros = torch.zeros(*positions.shape, dim, dtype=torch.float64)
    return SinusoidalPositions(dim, base)(zeros, positions)


# ---- sinusoids


def test_sinusoids_by_hand():
    """sin p, cos p, sin(p / 100), cos(p / 100): 10000^(2 / 4) = 100."""
    expected = torch.tensor(
        [
            [0.0, 1.0, 0.0, 1.0],
            [0.8414709848, 0.5403023059, 0.0099998333, 0.9999500004],
            [0.9092974268, -0.4161468365, 0.0199986667, 0.9998000067],
            [0.1411200081, -0.9899924966, 0.0299955002, 0.9995500337],
        ]
    ).double()
    actual = SinusoidalPositions(4)(torch.zeros(4, 4).double())
    assert_close(actual, expected, rtol=0, atol=1e-7)


@given(far_positions, even, bases)
def test_sinusoids_are_the_papers_formula(positions, dim, base):
    actual = waves(torch.tensor(positions), dim, base)
    for row, p in zip(actual.tolist(), positions, strict=True):
        for i in range(dim // 2):
            angle = p / base ** (2 * i / dim)
            assert row[2 * i] == pytest.approx(math.sin(angle), abs=1e-8)
            assert row[2 * i + 1] == pytest.approx(math.cos(angle), abs=1e-8)


def test_sinusoids_are_added():
    x = torch.randn(BATCH, LENGTH, DIM).double()
    before = x.clone()
    assert_close(SinusoidalPositions(DIM)(x), x + waves(torch.arange(LENGTH), DIM))
    assert torch.equal(x, before)


# ---- learned rows


def test_learned_rows_are_added_and_learned():
    module, x = LearnedPositions(MAX_LENGTH, DIM).double(), torch.randn(BATCH, LENGTH, DIM).double()
    output = module(x)
    assert_close(output, x + module.table.weight[:LENGTH], rtol=0, atol=0)
    output.sum().backward()
    expected = torch.zeros(MAX_LENGTH, DIM).double()
    expected[:LENGTH] = BATCH
    assert_close(module.table.weight.grad, expected)
    assert {name: tuple(p.shape) for name, p in module.named_parameters()} == {"table.weight": (11, 14)}


@pytest.mark.usefixtures("unchecked")
def test_learned_positions_end():
    module = LearnedPositions(MAX_LENGTH, DIM)
    last = module(torch.zeros(MAX_LENGTH, DIM))[-1:]
    assert torch.equal(module(torch.zeros(1, DIM), torch.tensor([MAX_LENGTH - 1])), last)
    for x, positions, got in (
        (torch.zeros(MAX_LENGTH + 1, DIM), None, MAX_LENGTH),
        (torch.zeros(2, DIM), torch.tensor([3, MAX_LENGTH]), MAX_LENGTH),
        (torch.zeros(2, DIM), torch.tensor([40, 3]), 40),
    ):
        with pytest.raises(ValueError, match=rf"\bpositions.*max_length = 11, got {got}"):
            module(x, positions)


# ---- turned pairs


def turned(x: torch.Tensor, positions: torch.Tensor, base: float, pairs: str) -> torch.Tensor:
    """Each pair as a complex number, times e^(i · angle)."""
    dim = x.shape[-1]
    if pairs == "halves":
        x = x.unflatten(-1, (2, dim // 2)).transpose(-2, -1)
    else:
        x = x.unflatten(-1, (dim // 2, 2))
    angles = positions.double()[..., None] / base ** (torch.arange(dim // 2).double() * 2 / dim)
    product = torch.view_as_real(torch.view_as_complex(x.contiguous()) * torch.exp(1j * angles))
    return (product.transpose(-2, -1) if pairs == "halves" else product).flatten(-2)


@pytest.mark.parametrize("pairs", ["neighbours", "halves"])
@given(far_positions, even, bases)
def test_turning_is_a_product_of_complex_numbers(pairs, positions, dim, base):
    x, places = torch.randn(HEADS, len(positions), dim).double(), torch.tensor(positions)
    actual = RotaryPositions(dim, base, pairs)(x, places)
    assert_close(actual, turned(x, places, base, pairs), rtol=1e-8, atol=1e-8)
    assert_close(actual.norm(dim=-1), x.norm(dim=-1))


def test_scaling_by_hand():
    """Of wavelengths that go r times into the length: below 2 a fifth, above 7 all, in between a line."""
    frequencies = 2 * math.pi / 20 * torch.tensor([1.0, 2.0, 3.25, 4.5, 7.0, 9.0]).double()
    shares = Llama3Scaling(factor=5.0, low=2.0, high=7.0, original_length=20).share(frequencies)
    assert_close(shares, torch.tensor([0.2, 0.2, 0.4, 0.6, 1.0, 1.0]).double())
    half = 2 * math.pi / 8192 * torch.tensor([2.5])  # from 1 to 4, the limits of Llama 3.1
    assert_close(Llama3Scaling().share(half), torch.tensor([0.5 / 8 + 0.5]))


def test_scaling_is_that_of_transformers():
    numbers = {"factor": 3.0, "low_freq_factor": 1.5, "high_freq_factor": 6.0}
    config = transformers.LlamaConfig(
        hidden_size=64, num_attention_heads=2, max_position_embeddings=4096,
        rope_parameters={
            "rope_type": "llama3", "rope_theta": 500.0, "original_max_position_embeddings": 256, **numbers,
        },
    )  # fmt: skip
    formula = transformers.modeling_rope_utils.ROPE_INIT_FUNCTIONS["llama3"]
    frequencies, _ = formula(config, torch.device("cpu"))
    scaling = Llama3Scaling(*numbers.values(), original_length=256)
    x = torch.randn(LENGTH, 32).double()
    pairs = x.unflatten(-1, (2, 16)).transpose(-2, -1).contiguous()
    angles = torch.arange(LENGTH).double()[:, None] * frequencies.double()
    product = torch.view_as_real(torch.view_as_complex(pairs) * torch.exp(1j * angles))
    actual = RotaryPositions(32, 500.0, "halves", scaling)(x)
    assert_close(actual, product.transpose(-2, -1).flatten(-2), rtol=0, atol=1e-6)


@pytest.mark.parametrize("low", [4.0, 5.0])
def test_scaling_has_its_limits_in_order(low):
    with pytest.raises(ValueError, match=rf"\bhigh must be above low = {low}, got 4.0"):
        Llama3Scaling(low=low)


# ---- all three

ALL = {
    "sinusoidal": lambda: SinusoidalPositions(DIM),
    "learned": lambda: LearnedPositions(MAX_LENGTH, DIM),
    "neighbours": lambda: RotaryPositions(DIM),
    "halves": lambda: RotaryPositions(DIM, pairs="halves"),
}
every_kind = pytest.mark.parametrize("make", ALL.values(), ids=ALL.keys())


@every_kind
def test_without_positions_they_are_0_1_2(make):
    module, x = make(), torch.randn(BATCH, LENGTH, DIM)
    assert torch.equal(module(x), module(x, torch.arange(LENGTH)))
    assert not torch.isclose(module(x), module(x, torch.arange(1, LENGTH + 1))).all()


@every_kind
@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_each_token_takes_the_row_of_its_position(make, dtype):
    module = make()
    everywhere = torch.randn(1, DIM).expand(MAX_LENGTH, DIM)
    rows = module(everywhere)
    positions = torch.tensor([[3, 0, 0, 10, 7], [1, 2, 9, 4, 5]], dtype=dtype)
    assert torch.equal(module(everywhere[:LENGTH].expand(BATCH, -1, -1), positions), rows[positions.long()])
    assert torch.equal(module(everywhere[:LENGTH], positions[1]), rows[positions[1].long()])


@every_kind
@pytest.mark.parametrize("batch", [BATCH, HEADS], ids=["", "as many heads as sequences"])
def test_positions_serve_all_heads(make, batch):
    module, x = make(), torch.randn(batch, HEADS, LENGTH, DIM)
    positions = torch.randint(0, MAX_LENGTH, (batch, LENGTH))
    actual = module(x, positions)
    assert_close(module(x, positions[:, None]), actual, rtol=0, atol=0)
    for row, head in itertools.product(range(batch), range(HEADS)):
        assert_close(actual[row, head], module(x[row, head], positions[row]))


@every_kind
def test_they_compile_into_one_graph(make, in_one_graph):
    module, x = make(), torch.randn(BATCH, HEADS, LENGTH, DIM)
    positions = torch.randint(0, MAX_LENGTH, (BATCH, LENGTH))
    compiled = in_one_graph(module)
    for arguments in ((x,), (x, positions)):
        assert_close(compiled(*arguments), module(*arguments))


@pytest.mark.usefixtures("unchecked")
@every_kind
def test_shapes_are_known_without_numbers(make):
    output = make().to("meta")(torch.randn(BATCH, LENGTH, DIM, device="meta"))
    assert output.is_meta
    assert output.shape == (BATCH, LENGTH, DIM)


@pytest.mark.parametrize("make", [ALL[kind] for kind in ("sinusoidal", "neighbours", "halves")])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32], ids=str)
def test_far_away_it_is_as_exact_as_the_dtype(make, dtype):
    """In float32, p / base^(…) itself would be wrong by 1e-2 at these positions."""
    module, x = make(), torch.randn(LENGTH, DIM).to(dtype)
    positions = torch.arange(LENGTH) + 1_000_003
    actual = module(x, positions)
    assert actual.dtype == dtype
    tolerance = 4 * torch.finfo(dtype).eps
    assert_close(actual.double(), module(x.double(), positions), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("kind", ["sinusoidal", "neighbours", "halves"])
def test_fixed_positions_store_nothing(kind):
    assert not ALL[kind]().state_dict()


def test_printed_with_their_sizes():
    assert repr(SinusoidalPositions(6)) == "SinusoidalPositions(embed_dim=6, base=10000)"
    assert repr(RotaryPositions(6, 500, "halves")) == "RotaryPositions(head_dim=6, base=500, pairs='halves')"


# ---- shared by layers


def test_layers_share_the_rotation_of_the_same_positions(monkeypatch):
    calls = []
    monkeypatch.setattr(positions_module, "_angles", lambda *inputs: calls.append(inputs) or ANGLES(*inputs))
    rotary, other = RotaryPositions(DIM), RotaryPositions(DIM, 500.0)
    x, places = torch.randn(BATCH, HEADS, LENGTH, DIM), torch.randint(0, MAX_LENGTH, (BATCH, LENGTH))
    inputs = [
        (rotary, x, places), (rotary, 2 * x, places), (rotary, x.double(), places), (other, x, places),
        (rotary, x, places + 1), (rotary, x[:, :1], places), (rotary, x[:1, :, :3], places[:1, :3]),
    ]  # fmt: skip
    alone = [module(each, where) for module, each, where in inputs]
    assert len(calls) == 7
    with share_rotations():
        shared = [module(each, where) for module, each, where in inputs + inputs]
    assert len(calls) == 7 + 6  # all but the second, and nothing again
    for actual, expected in zip(shared, alone + alone, strict=True):
        assert torch.equal(actual, expected)
    rotary(x, places)
    assert len(calls) == 14  # nothing stays


def test_shared_rotations_refuse_positions_of_another_length():
    rotary, places = RotaryPositions(DIM), torch.arange(LENGTH)
    with share_rotations():
        rotary(torch.randn(LENGTH, DIM), places)
        with pytest.raises(ValueError, match=r"\bpositions must broadcast"):
            rotary(torch.randn(LENGTH + 2, DIM), places)


@pytest.mark.parametrize("model", [
    lambda rotary: Decoder(3, 2 * DIM, 2, cross_attention=False, rotary=rotary),
    lambda rotary: Encoder(3, 2 * DIM, 2, rotary=rotary),
], ids=["decoder", "encoder"])  # fmt: skip
def test_models_compute_a_rotation_once(model, monkeypatch):
    calls = []
    model = model(RotaryPositions(DIM)).eval()
    x, places = torch.randn(BATCH, LENGTH, 2 * DIM), torch.randint(0, MAX_LENGTH, (BATCH, LENGTH))
    expected = x
    for layer in model.layers:
        expected, _ = layer(expected, positions=places)
    monkeypatch.setattr(positions_module, "_angles", lambda *inputs: calls.append(inputs) or ANGLES(*inputs))
    actual, _ = model(x, positions=places)
    assert torch.equal(actual, expected if model.norm is None else model.norm(expected))
    assert len(calls) == 1
