"""What exercises call: runs a reader's code, says whether it is right, and names the mistake if known."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Mapping

import torch
from torch import Tensor, nn

from polyhead import multi_head as forms
from polyhead.functional import scaled_dot_product_attention
from polyhead.language import text

# What each known mistake computes: dot products (…, num_queries, num_keys) and head_dim in, weights out.
_MISTAKES: dict[str, Callable[[Tensor, int], Tensor]] = {
    "unscaled": lambda dots, head_dim: dots.softmax(-1),
    "no_root": lambda dots, head_dim: (dots / head_dim).softmax(-1),
    "wrong_axis": lambda dots, head_dim: (dots / math.sqrt(head_dim)).softmax(-2),
    "no_softmax": lambda dots, head_dim: dots / math.sqrt(head_dim),
}
# The same for masks: scores and mask, (…, num_queries, num_keys), in, weights out.
_MASK_MISTAKES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "mask_ignored": lambda scores, mask: scores.softmax(-1),
    "mask_inverted": lambda scores, mask: scores.masked_fill(mask, -torch.inf).softmax(-1),
    "mask_after": lambda scores, mask: scores.softmax(-1) * mask,
    "mask_added": lambda scores, mask: (scores + mask).softmax(-1),
    "mask_zero": lambda scores, mask: scores.masked_fill(~mask, 0.0).softmax(-1),
}


def attention(candidate: Callable[[Tensor, Tensor, Tensor], object]) -> None:
    """Print whether `candidate(query, key, value)` is scaled dot-product attention, and if not, what it is.

    The sizes are different primes, so that no swapped dimension goes unnoticed.

    Args:
        candidate: takes (batch, num_queries, head_dim), (batch, num_keys, head_dim) and
            (batch, num_keys, value_dim); returns the output, alone or as the first of a tuple.
    """
    query, key, value = _samples((2, 3, 7), (2, 5, 7), (2, 5, 11))
    dots = query @ key.transpose(-2, -1)
    expected, _ = scaled_dot_product_attention(query, key, value)
    mistakes = {name: mistake(dots, query.shape[-1]) @ value for name, mistake in _MISTAKES.items()}
    print(_verdict(lambda: candidate(query.clone(), key.clone(), value.clone()), expected, mistakes))


def transpose_qkv(candidate: Callable[[Tensor, int], object]) -> None:
    """Print whether `candidate(X, num_heads)` does what `polyhead.transpose_qkv` does, or what else it does.

    Args:
        candidate: takes (batch, num_tokens, num_hiddens) and the number of heads; returns
            (batch · num_heads, num_tokens, num_hiddens / num_heads).
    """
    num_heads = 3
    (X,) = _samples((2, 5, 21))
    split = X.reshape(2, 5, num_heads, 7)  # (batch, num_tokens, num_heads, head_dim)
    mistakes = {
        "view": X.reshape(6, 5, 7),
        "heads_before_batch": split.permute(2, 0, 1, 3).flatten(0, 1),
        "entries_before_heads": X.reshape(2, 5, 7, num_heads).permute(0, 3, 1, 2).flatten(0, 1),
    }
    expected = forms.transpose_qkv(X, num_heads)
    print(_verdict(lambda: candidate(X.clone(), num_heads), expected, mistakes))


def masked_attention(candidate: Callable[[Tensor, Tensor, Tensor, Tensor], object]) -> None:
    """Print whether `candidate(query, key, value, mask)` is masked attention, and if not, what it is.

    First every query may attend to something. Then one may attend to nothing: it must get zeros, and no
    gradient may be NaN.

    Args:
        candidate: takes (batch, num_queries, head_dim), (batch, num_keys, head_dim),
            (batch, num_keys, value_dim) and a boolean mask, (batch, num_queries, num_keys), where True = may
            attend; returns the output, alone or as the first of a tuple.
    """
    query, key, value = _samples((2, 3, 7), (2, 5, 7), (2, 5, 11))
    seen = torch.tensor(
        [
            [[1, 1, 0, 0, 0], [1, 1, 1, 0, 0], [1, 1, 1, 1, 0]],
            [[1, 0, 1, 0, 1], [0, 1, 1, 0, 0], [0, 0, 0, 1, 1]],
        ]
    ).bool()
    expected, _ = scaled_dot_product_attention(query, key, value, seen)
    dots = query @ key.transpose(-2, -1)
    scores = dots / math.sqrt(query.shape[-1])
    mistakes = {name: mistake(scores, seen) @ value for name, mistake in _MASK_MISTAKES.items()}
    hidden = dots.masked_fill(~seen, -torch.inf)
    for name in ("unscaled", "no_root"):
        mistakes[name] = _MISTAKES[name](hidden, query.shape[-1]) @ value
    verdict = _verdict(
        lambda: candidate(query.clone(), key.clone(), value.clone(), seen.clone()), expected, mistakes
    )
    if verdict == text("check.agrees"):
        verdict = _blind_verdict(candidate, [query, key, value], seen)
    print(verdict)


def _blind_verdict(
    candidate: Callable[[Tensor, Tensor, Tensor, Tensor], object], inputs: list[Tensor], seen: Tensor
) -> str:
    """The finding where the second query of the first sequence may attend to nothing."""
    blind = seen.clone()
    blind[0, 1] = False
    query, key, value = (tensor.clone().requires_grad_() for tensor in inputs)
    outputs: list[object] = []

    def run() -> object:
        output = candidate(query.clone(), key.clone(), value.clone(), blind.clone())
        outputs.append(output[0] if isinstance(output, tuple) and output else output)
        return output

    expected, _ = scaled_dot_product_attention(inputs[0], inputs[1], inputs[2], blind)
    uniform = expected.clone()
    uniform[0, 1] = inputs[2][0].mean(dim=0)
    verdict = _verdict(run, expected, {"mask_uniform": uniform})
    output = outputs[0] if outputs else None
    if not isinstance(output, Tensor) or output.shape != expected.shape:
        return verdict
    if output[0, 1].isnan().any():
        return text("check.mask_nan")
    if verdict == text("check.agrees") and output.requires_grad:
        try:
            output.sum().backward()  # type: ignore[no-untyped-call]
        except RuntimeError as error:
            return text("check.raises", error=f"{type(error).__name__}: {error}")
        if any(each.grad is not None and each.grad.isnan().any() for each in (query, key, value)):
            return text("check.mask_nan_gradient")
    return verdict


def multi_head(candidate: Callable[[Tensor, list[tuple[Tensor, Tensor, Tensor]], Tensor], object]) -> None:
    """Print whether `candidate(x, heads, W_O)` is multi-head self-attention, and if not, what it is.

    Args:
        candidate: takes the tokens, (batch, num_tokens, embed_dim); one triple (W_Q, W_K, W_V) a head, each
            (embed_dim, head_dim); and W_O, (num_heads · head_dim, embed_dim). It returns the output,
            (batch, num_tokens, embed_dim), alone or as the first of a tuple.
    """
    num_heads, head_dim, embed_dim = 3, 4, 12
    x, W_O, *rest = _samples(
        (2, 5, embed_dim), (embed_dim, embed_dim), *[(embed_dim, head_dim)] * (3 * num_heads)
    )
    heads = [(rest[i] / 3, rest[i + 1] / 3, rest[i + 2]) for i in range(0, len(rest), 3)]

    def outputs(divisor: float) -> list[Tensor]:
        return [((x @ q) @ (x @ k).mT / divisor).softmax(-1) @ (x @ v) for q, k, v in heads]

    def run(matrix: Tensor) -> object:
        return candidate(x.clone(), [(q.clone(), k.clone(), v.clone()) for q, k, v in heads], matrix.clone())

    right = outputs(math.sqrt(head_dim))
    mistakes = {
        "unscaled": torch.cat(outputs(1.0), dim=-1) @ W_O,
        "model_root": torch.cat(outputs(math.sqrt(embed_dim)), dim=-1) @ W_O,
        "no_output_projection": torch.cat(right, dim=-1),
    }
    # Stacked or concatenated along another dimension, then forced into the right shape.
    scrambled = [torch.cat(right, dim) for dim in (0, 1)] + [torch.stack(right, dim) for dim in (1, 3)]
    # Heads that do not stand side by side do not fit W_O, and the program stops. They fit a part of it.
    part = W_O[:head_dim]
    misfits = [
        ("heads_summed", torch.stack(right).sum(dim=0) @ part),
        ("heads_averaged", torch.stack(right).mean(dim=0) @ part),
        *(("concat_axis", torch.cat(right, dim) @ part) for dim in (0, 1)),
        *(("concat_axis", torch.stack(right, dim) @ part) for dim in (0, 1, 2)),
    ]
    name = _recognized(lambda: run(part), misfits) or _recognized(
        lambda: run(W_O), [("concat_axis", each.reshape(2, 5, embed_dim) @ W_O) for each in scrambled]
    )
    expected = torch.cat(right, dim=-1) @ W_O
    print(text(f"check.{name}") if name else _verdict(lambda: run(W_O), expected, mistakes))


def cached_mask(candidate: Callable[[int, int], object]) -> None:
    """Print whether `candidate(num_cached, num_new)` is the mask of new tokens after cached ones.

    Several new tokens after several cached ones, then one new token, then no cache.

    Args:
        candidate: returns a boolean mask, (num_new, num_cached + num_new), where True = may attend.
    """
    verdict = text("check.agrees")
    for num_cached, num_new in ((5, 3), (5, 1), (0, 4)):
        if verdict == text("check.agrees"):
            verdict = _cached_mask_verdict(candidate, num_cached, num_new)
    print(verdict)


def _cached_mask_verdict(candidate: Callable[[int, int], object], num_cached: int, num_new: int) -> str:
    try:
        output = candidate(num_cached, num_new)
    except Exception as error:
        return text("check.raises", error=f"{type(error).__name__}: {error}")
    if not isinstance(output, Tensor) or output.dtype != torch.bool:
        kind = output.dtype if isinstance(output, Tensor) else type(output).__name__
        return text("check.no_mask", kind=kind)
    whole = torch.ones(num_new, num_cached + num_new)
    expected = whole.tril(num_cached)
    block = whole[:, num_cached:].tril()  # among the new tokens
    mistakes = {
        "cache_upper_left": whole.tril(),
        "mask_inverted": 1 - expected,
        "cache_strict": whole.tril(num_cached - 1),
        "cache_ahead": whole.tril(num_cached + 1),
        "cache_open": whole,
        "cache_hidden": torch.cat((whole[:, :num_cached] * 0, block), dim=1),
        "cache_order": torch.cat((block, whole[:, :num_cached]), dim=1),
    }
    return _verdict(lambda: output.float(), expected, mistakes)


def encoder_layer(
    candidate: Callable[
        [Tensor, Callable[[Tensor], Tensor], Callable[[Tensor], Tensor], nn.LayerNorm, nn.LayerNorm], object
    ],
) -> None:
    """Print whether `candidate(x, attention, feed_forward, norm_1, norm_2)` is a post-norm encoder layer.

    If it is not, print what it is. Each norm has parameters of its own, so that no swap goes unnoticed.

    Args:
        candidate: takes the tokens, (batch, num_tokens, embed_dim), the two sublayers, and the norm of each;
            returns the tokens, (batch, num_tokens, embed_dim), alone or as the first of a tuple.
    """
    x, mixing, hidden, *affine = _samples((2, 5, 6), (5, 5), (6, 6), (6,), (6,), (6,), (6,))
    norms = [nn.LayerNorm(6), nn.LayerNorm(6)]
    with torch.no_grad():
        for norm, factor, bias in zip(norms, affine[::2], affine[1::2], strict=True):
            norm.weight.copy_(1 + factor / 3)
            norm.bias.copy_(bias)
    first, second = norms

    def attention(tokens: Tensor) -> Tensor:
        return mixing.softmax(-1) @ tokens

    def feed_forward(tokens: Tensor) -> Tensor:
        return torch.relu(tokens @ hidden)

    def post(
        one: Callable[[Tensor], Tensor], two: Callable[[Tensor], Tensor], path_1: float = 1, path_2: float = 1
    ) -> Tensor:
        y = one(path_1 * x + attention(x))
        return two(path_2 * y + feed_forward(y))

    def same(tokens: Tensor) -> Tensor:
        return tokens

    with torch.no_grad():
        attended = first(x + attention(x))
        inside = x + first(attention(x))
        pre = x + attention(first(x))
        mistakes = [
            ("norm_first", pre + feed_forward(second(pre))),
            *(("no_residual", post(first, second, *paths)) for paths in ((0, 0), (0, 1), (1, 0))),
            *(("no_norm", post(*pair)) for pair in ((same, same), (first, same), (same, second))),
            ("norm_inside", inside + second(feed_forward(inside))),
            ("residual_from_start", second(x + feed_forward(attended))),
            *(("norms_swapped", post(*pair)) for pair in ((second, first), (first, first), (second, second))),
        ]
        expected = post(first, second)

    def run() -> object:
        return candidate(x.clone(), attention, feed_forward, *copy.deepcopy(norms))

    name = _recognized(run, mistakes)
    print(text(f"check.{name}") if name else _verdict(run, expected, {}))


def sinusoidal_positions(candidate: Callable[[int, int], object]) -> None:
    """Print whether `candidate(length, embed_dim)` gives the sinusoidal positions, and if not, what it gives.

    Args:
        candidate: takes two ints, embed_dim even; returns (length, embed_dim).
    """
    length, embed_dim = 7, 10
    places = torch.arange(length, dtype=torch.float64)[:, None]
    pairs = torch.arange(0, embed_dim, 2, dtype=torch.float64)
    each = torch.arange(embed_dim, dtype=torch.float64)

    def waves(speeds: Tensor, start: int = 0) -> Tensor:
        angles = (places + start) * speeds
        return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)

    def own(speeds: Tensor) -> Tensor:
        """Every dimension with a speed of its own."""
        angles = places * speeds
        return torch.where(each % 2 == 0, angles.sin(), angles.cos())

    right = 1e4 ** (-pairs / embed_dim)
    angles = places * right
    mistakes = [
        ("waves_swapped", torch.stack((angles.cos(), angles.sin()), dim=-1).flatten(1)),
        ("waves_halves", torch.cat((angles.sin(), angles.cos()), dim=1)),
        ("waves_from_one", waves(right, start=1)),
        ("waves_speed", waves(1e4 ** (-pairs / 2 / embed_dim))),
        ("waves_speed", waves(1e4 ** (-2 * pairs / embed_dim))),
        ("waves_speed", waves(1e4 ** (-pairs / (embed_dim - 2)))),
        ("waves_speed", own(1e4 ** (-each / embed_dim))),
        ("waves_speed", own(1e4 ** (-2 * each / embed_dim))),
    ]

    def run() -> object:
        return candidate(length, embed_dim)

    name = _recognized(run, [(key, each.float()) for key, each in mistakes])
    print(text(f"check.{name}") if name else _verdict(run, waves(right).float(), {}))


def cross_attention(candidate: Callable[[Tensor, Tensor, Tensor, forms.MultiHeadAttention], object]) -> None:
    """Print whether `candidate(decoder_states, memory, memory_mask, attention)` is cross-attention.

    First both sequences are equally long: every mistake then runs, and can be recognized by what it gives.
    Then the lengths differ.

    Args:
        candidate: takes the decoder's states, (batch, target_length, embed_dim); the encoder's output,
            (batch, source_length, embed_dim); a boolean mask, (batch, source_length), where True = a token
            and False = padding; and the `MultiHeadAttention` to call. It returns the output,
            (batch, target_length, embed_dim), alone or as the first of a tuple.
    """
    for length in (5, 3):
        states, memory, *parameters = _samples((2, length, 6), (2, 5, 6), (18, 6), (18,), (6, 6), (6,))
        attention = forms.MultiHeadAttention(6, num_heads=2).eval()
        with torch.no_grad():
            for own, drawn in zip(attention.parameters(), parameters, strict=True):
                own.copy_(drawn)
        seen = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]]).bool()
        mask = seen[:, None]  # (batch, 1, source_length)
        with torch.no_grad():
            mistakes = {
                "cross_unmasked": attention(states, memory)[0],
                "cross_causal": attention(states, memory, mask=mask, is_causal=True)[0],
                "mask_inverted": attention(states, memory, mask=~mask)[0],
                "cross_self": attention(states)[0],
            }
            exchanges = {
                "cross_exchanged": (memory, states, states),
                "cross_keys": (states, states, memory),
                "cross_values": (states, memory, states),
                "cross_self": (states, states, states),
            }
            known = list(mistakes.items())
            if length == seen.shape[1]:
                for name, inputs in exchanges.items():
                    known += [(name, attention(*inputs, mask=each)[0]) for each in (None, mask)]
            known.append(("cross_causal", attention(states, memory, is_causal=True)[0]))
            expected, _ = attention(states, memory, mask=mask)

        def run(states: Tensor = states, memory: Tensor = memory, seen: Tensor = seen) -> object:
            return candidate(states.clone(), memory.clone(), seen.clone(), attention)  # noqa: B023

        found = _recognized(run, known)
        verdict = text(f"check.{found}") if found else _verdict(run, expected, {})
        if verdict != text("check.agrees"):
            break
    print(verdict)


def _recognized(run: Callable[[], object], mistakes: Iterable[tuple[str, Tensor]]) -> str | None:
    """The name of the mistake whose output `run` gives, if any; `run` may fail."""
    try:
        output = run()
    except Exception:
        return None
    output = output[0] if isinstance(output, tuple) and output else output
    if not isinstance(output, Tensor) or not output.is_floating_point():
        return None
    if output.layout != torch.strided or output.is_meta:
        return None
    for name, mistake in mistakes:
        if output.shape == mistake.shape and torch.allclose(output.detach().to(mistake), mistake, atol=1e-5):
            return name
    return None


def _samples(*shapes: tuple[int, ...]) -> list[Tensor]:
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(shape, generator=generator) for shape in shapes]


def _verdict(run: Callable[[], object], expected: Tensor, mistakes: Mapping[str, Tensor]) -> str:
    """Compare what a reader's code gives with what it should, and with what known mistakes give.

    Args:
        run: calls the reader's code.
        expected: the right output.
        mistakes: label key without "check." -> the output of that mistake, of the same shape.

    Returns:
        The finding, in the reader's language.
    """
    try:
        output = run()
    except Exception as error:
        return text("check.raises", error=f"{type(error).__name__}: {error}")
    output = output[0] if isinstance(output, tuple) and output else output
    if not isinstance(output, Tensor):
        return text("check.no_tensor", kind=type(output).__name__)
    if not output.is_floating_point() or output.layout != torch.strided or output.is_meta:
        return text("check.no_tensor", kind=f"{output.dtype} ({output.layout}, {output.device})")
    output = output.detach().to(expected)
    if output.shape != expected.shape:
        return text("check.shape", expected=tuple(expected.shape), actual=tuple(output.shape))
    if torch.allclose(output, expected, atol=1e-5):
        return text("check.agrees")
    for name, mistake in mistakes.items():
        if torch.allclose(output, mistake, atol=1e-5):
            return text(f"check.{name}")
    return text("check.differs", difference=f"{(output - expected).abs().max().item():.2g}")
