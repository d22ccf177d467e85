"""Laws that every decoder keeps, whatever its weights: each a few lines, each based on calls alone.

A decoder is called with (token_ids, mask, cache) and returns logits; it may have parameters for `positions`,
`documents` and `need_weights` as well. Where a law needs an argument that a decoder lacks, it returns None.

Example:
    >>> from attention_clinic.planted import planted_decoder
    >>> float(causality(planted_decoder())), causality(planted_decoder("sees_ahead")) > 0.1
    (0.0, True)
    >>> print(look(lambda token_ids: planted_decoder()(token_ids)))
    None
"""

import functools
import itertools
import math
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn

from attention_clinic.adapter import Decoder, DecoderAdapter
from attention_clinic.seeded import copied
from polyhead.modes import evaluation_mode

_DROPOUTS = ("p", "dropout", "dropout_p", "drop", "attention_dropout", "attn_dropout", "hidden_dropout")


class Deviation(float):
    """The largest difference of two results that should be equal: 0.0 within rounding, inf for new NaN.

    `expected` and `actual` are the two results; `calls` are the arguments of all calls of the decoder.
    """

    expected: Tensor | None = None
    actual: Tensor | None = None
    calls: tuple[dict[str, Any], ...] = ()


LawFunction = Callable[[DecoderAdapter, Tensor], "float | None"]


class Law:
    """A decorator that makes a function of a `DecoderAdapter` and token ids a law, called with any decoder.

    `law(decoder, batch, length)` draws the token ids, always the same; gradients are off, and a module is in
    evaluation mode.

    Example:
        >>> @Law
        ... def first(decoder, ids):
        ...     return gap(decoder(ids)[:, :1], decoder(ids[:, :1]))
        >>> from attention_clinic.planted import planted_decoder
        >>> float(first(planted_decoder()))
        0.0
    """

    def __init__(self, function: LawFunction, needs: str | None = None) -> None:
        """Wrap the function, so that `inspect` finds its source; `needs` is what a decoder must take."""
        functools.update_wrapper(self, function)
        self.__name__, self.function, self.needs = function.__name__, function, needs

    def __repr__(self) -> str:
        """Its name."""
        return f"<law {self.__name__}>"

    def __call__(
        self, decoder: Decoder, batch: int = 3, length: int = 11, vocab_size: int | None = None
    ) -> Deviation | None:
        """The largest deviation: 0.0 where the law holds, None where it does not apply."""
        examined = decoder if isinstance(decoder, DecoderAdapter) else DecoderAdapter(decoder)
        with evaluation_mode(examined.module), torch.no_grad(), torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(0)  # what is left to chance is the same each time
            ids = sample(examined, batch, length, vocab_size)
            examined.calls.clear()
            applies = self.needs is None or examined.takes(self.needs)
            found = self.function(examined, ids) if applies else None
        if found is None:
            return None
        found = found if isinstance(found, Deviation) else Deviation(found)
        found.calls = tuple(examined.calls)
        return found


def needing(role: str) -> Callable[[LawFunction], Law]:
    """A decorator for a law that applies to decoders that take this role alone."""
    return functools.partial(Law, needs=role)


def sample(decoder: DecoderAdapter, batch: int, length: int, vocab_size: int | None = None) -> Tensor:
    """Random token ids, always the same; none is the vocabulary's last, so that `other_tokens` can add 1."""
    vocab_size = vocab_size or decoder.vocab_size
    generator = torch.Generator().manual_seed(0)
    return torch.randint(0, max(vocab_size - 1, 1), (batch, length), generator=generator)


def other_tokens(ids: Tensor, start: int = 0, stop: int | None = None) -> Tensor:
    """The same token ids, with other tokens from `start` up to `stop`.

    Example:
        >>> other_tokens(torch.tensor([[3, 1, 4]]), start=1)
        tensor([[3, 2, 5]])
    """
    changed = ids.clone()
    changed[:, start:stop] += 1
    return changed


def gap(expected: Tensor, actual: Tensor, least: float = 1e-5) -> Deviation:
    """The largest difference: 0.0 within rounding, or `least` of the largest number; inf for new NaN.

    Example:
        >>> gap(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.5]))
        0.5
    """
    same = (expected == actual) | (expected.isnan() & actual.isnan())
    difference = torch.where(same, 0.0, (expected - actual).abs())
    largest = difference.amax().item() if difference.numel() else 0.0
    finite = expected[expected.isfinite()].abs()
    rounding = 8 * torch.finfo(torch.promote_types(expected.dtype, actual.dtype)).eps
    slack = max(least, rounding) * (finite.amax().item() if finite.numel() else 1.0)
    found = Deviation(math.inf if math.isnan(largest) else 0.0 if largest <= slack else largest)
    found.expected, found.actual = expected, actual
    return found


def moved(plain: Tensor, other: Tensor) -> list[bool]:
    """Whether the numbers of each token, (num_tokens, size), are others; see `gap`.

    Example:
        >>> moved(torch.tensor([[1.0], [2.0]]), torch.tensor([[1.0], [2.5]]))
        [False, True]
    """
    return [bool(gap(*pair)) for pair in zip(plain, other, strict=True)]


def last(flags: Iterable[bool]) -> int:
    """The number of the last token of which something holds; 0 if there is none.

    Example:
        >>> last([False, True, False])
        1
    """
    return max((place for place, holds in enumerate(flags) if holds), default=0)


@Law
def twice(decoder: DecoderAdapter, ids: Tensor) -> Deviation:
    """Two equal calls in evaluation are equal. This law comes first: without it no other can hold."""
    return gap(decoder(ids), decoder(ids))


@Law
def causality(decoder: DecoderAdapter, ids: Tensor) -> Deviation | None:
    """Other tokens in the future change nothing before them, wherever the future begins."""
    if decoder.last_alone:
        return None
    length, found = ids.shape[1], Deviation()
    for now in dict.fromkeys((length // 2, length // 4, 3 * length // 4)):
        found = found or gap(decoder(ids)[:, :now], decoder(other_tokens(ids, now))[:, :now])
    return found


@Law
def past(decoder: DecoderAdapter, ids: Tensor) -> float:
    """Other tokens in the past change what comes: 1.0 where they do not."""
    return float(not gap(decoder(ids)[:, -1], decoder(other_tokens(ids, 0, -1))[:, -1]))


@needing("mask")
def left_pad(decoder: DecoderAdapter, ids: Tensor) -> Deviation:
    """Padding on the left, another number of tokens in each row, changes nothing."""
    return padded(decoder, ids, torch.arange(ids.shape[1]) > torch.arange(len(ids))[:, None])


def padded(decoder: DecoderAdapter, ids: Tensor, mask: Tensor, **options: Any) -> Deviation:
    """How much the tokens of a mask, among padding, differ from the same tokens alone."""
    alone = [decoder(row[None, keep])[0] for row, keep in zip(ids, mask, strict=True)]
    return gap(torch.cat(alone), decoder(ids, mask=mask, **options)[mask])


@needing("cache")
def step(decoder: DecoderAdapter, ids: Tensor) -> Deviation:
    """Token by token with a cache is the same as all at once."""
    cache = decoder.new_cache()
    steps = [decoder(token, cache=cache) for token in torch.split(ids, 1, dim=1)]
    return gap(decoder(ids), torch.cat(steps, dim=1))


@needing("cache")
def chunk(decoder: DecoderAdapter, ids: Tensor) -> Deviation:
    """Some tokens at a time with a cache is the same as all at once."""
    cache, first = decoder.new_cache(), ids.shape[1] // 3
    chunks = [decoder(ids[:, :first], cache=cache), decoder(ids[:, first:], cache=cache)]
    positions = [first - 1, -1] if decoder.last_alone else slice(None)
    return gap(decoder(ids)[:, positions], torch.cat(chunks, dim=1))


@needing("positions")
def shift(decoder: DecoderAdapter, ids: Tensor) -> Deviation | None:
    """A thousand positions further on, distances are the same; for positions that act in attention alone."""

    def shifted(ids: Tensor) -> Deviation:
        positions = torch.arange(ids.shape[1]).expand_as(ids)
        near, far = (decoder(ids, positions=positions + start) for start in (0, 1000))
        return gap(near, far, least=1e-3)  # angles a thousand times as large are rounded so much more

    try:  # a single token has nothing but itself to attend to, so that its weight is 1, wherever it is
        if shifted(ids[:, :1]):
            return None
    except Exception:  # a table of positions that ends before
        return None
    return shifted(ids)


@needing("need_weights")
def look(decoder: DecoderAdapter, ids: Tensor) -> Deviation:
    """Returning the weights as well changes nothing."""
    return gap(decoder(ids), decoder(ids, need_weights=True))


@needing("documents")
def docs(decoder: DecoderAdapter, ids: Tensor) -> Deviation:
    """Two documents in one row are the same as each alone."""
    end = ids.shape[1] // 2
    documents = (torch.arange(ids.shape[1]) >= end).long().expand_as(ids)
    alone = torch.cat([decoder(ids[:, :end]), decoder(ids[:, end:])], dim=1)
    return gap(alone, decoder(ids, documents=documents))


@Law
def reach(decoder: DecoderAdapter, ids: Tensor) -> float | None:
    """What a token changes ends after num_layers · (window - 1) tokens: by how many it is off.

    Any difference shows that a change comes so far, and only one beyond rounding that it comes too far.
    """
    window, num_layers = (getattr(decoder.decoder, name, None) for name in ("window", "num_layers"))
    if not window or window == math.inf or not num_layers:
        return None
    first = ids[:1, :1].expand(1, num_layers * (window + 1) + 1)
    plain, other = decoder(first)[0], decoder(other_tokens(first, 0, 1))[0]
    end, felt = num_layers * (window - 1), last((plain != other).any(dim=-1).tolist())
    return float(max(last(moved(plain, other)) - end, end - felt, 0))


@Law
def windows(decoder: DecoderAdapter, ids: Tensor) -> float | None:
    """Each layer reaches as far as the model's configuration says: in how many layers it does not."""
    layers = windows_of_layers(decoder)
    return None if layers is None else float(sum(actual != declared for actual, declared in layers))


def windows_of_layers(decoder: DecoderAdapter) -> list[tuple[int | None, int | None]] | None:
    """The window of each layer, None for a whole one: as measured, and as the configuration declares it."""
    config = getattr(decoder.decoder, "config", decoder.decoder)
    names = ("sliding_window", "layer_types", "num_hidden_layers")
    window, types, number = (getattr(config, name, None) for name in names)
    if not isinstance(window, int):
        return None
    types = types or ["sliding_attention"] * (number or 0)
    lists = (part for part in decoder.module.modules() if isinstance(part, nn.ModuleList))
    layers = next((part for part in lists if len(part) == len(types)), None)
    if not types or layers is None or not {*types} <= {"sliding_attention", "full_attention"}:
        return None
    declared = [window if each == "sliding_attention" else None for each in types]
    length = 2 * max(each or 1 for each in declared) + 3
    pairs = zip(layers, declared, strict=True)
    return [(_window(decoder, layer, each, length), each) for layer, each in pairs]


def _window(decoder: DecoderAdapter, layer: nn.Module, declared: int | None, length: int) -> int | None:
    """How far a layer's output follows its own input at the first token; None where that is the end."""
    outputs = list[Tensor]()

    def disturb(_: nn.Module, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """Change the first token once there is an output to compare with."""
        x = (args[0] if args else options["hidden_states"]).clone()
        x[..., 0, :] += len(outputs) * torch.arange(x.shape[-1]).sin()
        return ((x, *args[1:]), options) if args else (args, {**options, "hidden_states": x})

    def keep(_: nn.Module, args: Any, output: Any) -> None:
        outputs.append(output[0] if isinstance(output, tuple) else output)

    ids = sample(decoder, 1, length)
    decoder(ids)  # which finds out how the decoder is called
    with layer.register_forward_pre_hook(disturb, with_kwargs=True), layer.register_forward_hook(keep):
        for _ in range(2):
            decoder(ids)
    plain, other = (output.flatten(0, -3).transpose(0, 1).flatten(1) for output in outputs)
    wanted, seen = declared or length, last(moved(plain, other)) + 1
    # Any difference shows that a change comes so far, only one beyond rounding that it comes too far.
    felt = last((plain != other).any(dim=1).tolist()) + 1
    reached = wanted if seen <= wanted <= felt else seen
    return None if reached == length else reached


@Law
def batch(decoder: DecoderAdapter, ids: Tensor) -> Deviation:
    """A sequence is the same alone and amid others, of which there may be as many as heads."""
    length = ids.shape[1]

    def amid(size: int) -> Tensor:
        rows, place = other_tokens(ids[:1].expand(size, -1)), size // 2
        mask = torch.arange(length) >= torch.arange(size)[:, None] % length
        rows[place], mask[place] = ids[0], True
        options: dict[str, Any] = {"mask": mask} if decoder.takes("mask") else {}
        return decoder(rows, **options)[place]

    alone, *others = [amid(size) for size in range(1, 9)]
    return gap(alone.expand(len(others), *alone.shape), torch.stack(others))


@Law
def train(decoder: DecoderAdapter, ids: Tensor) -> Deviation | None:
    """Without dropout, training is the same as evaluation; None where dropout cannot be switched off."""
    learning = in_training(decoder)
    if learning is None:
        return None
    first, second = learning(ids), learning(ids)
    if gap(first, second) and not gap(decoder(ids), decoder(ids)):
        return None
    return gap(decoder(ids), first)


def in_training(decoder: DecoderAdapter) -> DecoderAdapter | None:
    """A copy in training, without dropout; None of a function, or of a module that cannot be copied."""
    module = copied(decoder.module) if decoder.module is decoder.decoder else None
    if module is None:
        return None
    for part, name in itertools.product(module.modules(), _DROPOUTS):
        if isinstance(getattr(part, name, None), float):
            setattr(part, name, 0.0)
    return DecoderAdapter(module.train(), decoder.call)


@needing("mask")
def right_pad(decoder: DecoderAdapter, ids: Tensor) -> Deviation:
    """Padding on the right, another number of tokens in each row, changes nothing."""
    return padded(decoder, ids, torch.arange(ids.shape[1], 0, -1) > torch.arange(len(ids))[:, None])


@Law
def hears(decoder: DecoderAdapter, ids: Tensor) -> float:
    """Other tokens, later ones too, change the first: 1.0 where they do not."""
    return float(not gap(decoder(ids)[:, 0], decoder(other_tokens(ids, 1))[:, 0]))


def parity(decoder: Decoder, right: Decoder, batch: int = 3, length: int = 11) -> Deviation:
    """Compare the logits with those of a right decoder of the same weights, which is no law.

    Example:
        >>> from attention_clinic.planted import planted_decoder
        >>> parity(planted_decoder("unscaled"), planted_decoder()) > 0.1
        True
    """

    @Law
    def same(decoder: DecoderAdapter, ids: Tensor) -> Deviation:
        return gap(DecoderAdapter(right)(ids), decoder(ids))

    found = same(decoder, batch, length)
    assert found is not None
    return found


def _by_name(*laws: Law) -> dict[str, Law]:
    return {law.__name__: law for law in laws}


LAWS = _by_name(twice, causality, past, left_pad, step, chunk, shift, look, docs, reach, batch, train)
# Of models that see both ways, and of those that say which of their layers have a window.
FURTHER = _by_name(hears, right_pad, windows)
ALL = {**LAWS, **FURTHER}
