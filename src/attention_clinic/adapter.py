"""Whole models of anybody's, called in one way: token ids, a mask and a cache in, all logits out."""

from __future__ import annotations

import contextlib
import copy
import functools
import re
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from attention_clinic.arguments import named_parameters, roles

Decoder = Callable[..., Any]

MODEL = roles(
    token_ids="ids idx input_ids tokens",
    mask="attention_mask padding_mask pad_mask src_mask key_padding_mask src_key_padding_mask",
    cache="kv_cache past_key_values past_key_value past_kv past layer_past caches cache_params state",
    use_cache="", start_pos="startpos start offset past_length", positions="position_ids",
    documents="document_ids", need_weights="output_attentions", targets="target labels",
)  # fmt: skip
_SAMPLE = torch.zeros(2, 3, dtype=torch.long)
_CACHES = (*MODEL["cache"], "new_cache", "present", "presents")
_LOGITS = ("logits", "prediction_logits", "last_hidden_state")
_INTENDED = (
    (re.compile("bert|encoder|maskedlm|mlm|classif", re.IGNORECASE), False),
    (re.compile("gpt|causal|decoder|llama", re.IGNORECASE), True),
)


class NoLogits(TypeError):
    """A decoder's output has not the shape of logits.

    `expected` is that shape, `output` what the decoder returned.
    """

    def __init__(self, expected: tuple[object, ...], output: object) -> None:
        """Take both."""
        self.expected, self.output = expected, output
        kind = tuple(output.shape) if isinstance(output, Tensor) else type(output).__name__
        super().__init__(f"a decoder must give logits, {expected}, got {kind}")


class Cache:
    """What a decoder keeps of earlier tokens: inside itself, in an object, or in what it returns.

    Example:
        >>> adapter = DecoderAdapter(lambda ids, cache=None: (torch.zeros(*ids.shape, 7), (cache or 0) + 1))
        >>> cache = adapter.new_cache()
        >>> _ = adapter(torch.tensor([[3, 1]]), cache=cache)
        >>> cache.value, cache.length
        (1, 2)
    """

    def __init__(self, decoder: Decoder, value: Any = None) -> None:
        """Take the decoder that is called, and the first value of its argument."""
        self.decoder, self.value, self.length = decoder, value, 0

    def advance(self, output: Any, length: int) -> None:
        """Take the new value from an output, if there is one in it, and count the tokens."""
        value = next(_caches(output), None)
        self.value = self.value if value is None else value
        self.length += length


class DecoderAdapter:
    """A decoder with one set of argument names, that of `MODEL`, and with logits as its output.

    The cache may be an object of the decoder's `new_cache`, what a call returns, or inside a module that is
    called with `use_cache=True` or `start_pos`. `calls` keeps the arguments of each call.

    Example:
        >>> decoder = DecoderAdapter(lambda input_ids: torch.zeros(*input_ids.shape, 7))
        >>> decoder(torch.tensor([[3, 1]])).shape, decoder.takes("mask")
        (torch.Size([1, 2, 7]), False)
    """

    def __init__(self, decoder: Decoder, call: Callable[..., Any] | None = None) -> None:
        """Read the signature; `call(decoder, token_ids, **options)` is how the decoder is called."""
        parameters = named_parameters(decoder, MODEL)
        self._names = {role: parameter.name for role, parameter in parameters.items()}
        start = parameters.get("start_pos")
        self._needs_start = start is not None and start.default is start.empty
        self.decoder, self._call = decoder, call or _call
        self.calls: list[dict[str, Any]] = []
        parameter = next(decoder.parameters(), None) if isinstance(decoder, nn.Module) else None
        self.device = torch.device("cpu") if parameter is None else parameter.device

    def takes(self, role: str) -> bool:
        """Whether the decoder has an argument for a role, or a cache."""
        return self._make is not None if role == "cache" else role in self._names

    @property
    def expects_positions(self) -> bool:
        """Whether it leaves positions among padding to its caller, as Hugging Face's models do."""
        return self._names.get("positions") == "position_ids"

    @functools.cached_property
    def vocab_size(self) -> int:
        """A number of token ids that the decoder has."""
        size = self(torch.zeros(1, 1, dtype=torch.long)).shape[-1]
        parts = self.decoder.modules() if isinstance(self.decoder, nn.Module) else ()
        tables = [part.num_embeddings for part in parts if isinstance(part, nn.Embedding)]
        return min([size, *(table for table in tables if table > 4)])

    @functools.cached_property
    def last_alone(self) -> bool:
        """Whether a call gives the logits of the last token alone, with or without targets."""
        return self._logits(_SAMPLE).shape[1] == 1 and not self._asks_targets

    @functools.cached_property
    def _asks_targets(self) -> bool:
        """Whether only a call with targets gives all logits."""
        if "targets" not in self._names or self._logits(_SAMPLE).shape[1] > 1:
            return False
        return self._logits(_SAMPLE, {self._names["targets"]: _SAMPLE.to(self.device)}).shape[1] > 1

    @functools.cached_property
    def _make(self) -> Callable[[], Cache] | None:
        """How an empty cache is made."""
        if "cache" in self._names and callable(new := getattr(self.decoder, "new_cache", None)):
            return lambda: Cache(self.decoder, self._call(new))
        if "cache" in self._names:
            makes = [functools.partial(_started, self.decoder, kind) for kind in (type(None), dict, list)]
            return next((make for make in makes if self._is_kept(make())), None)
        return (
            (lambda: Cache(copy.deepcopy(self.decoder)))
            if {"use_cache", "start_pos"} & {*self._names}
            else None
        )

    def _is_kept(self, cache: Cache) -> bool:
        """Whether a call fills a cache."""
        with contextlib.suppress(Exception):  # an empty cache of another kind
            self._one(_SAMPLE[:1, :1], cache, {})
        return cache.value is not None and (not isinstance(cache.value, dict | list) or bool(cache.value))

    def new_cache(self) -> Cache:
        """An empty cache for one batch of sequences."""
        assert self._make is not None
        return self._make()

    @functools.cached_property
    def mask_form(self) -> tuple[bool, Callable[[Tensor], Tensor]]:
        """Whether True hides, and masks of which dtype and shape: one that hides nothing changes nothing."""
        plain, forms = self._logits(_SAMPLE), [*_mask_forms(self._names["mask"])]
        for hides, form in forms:
            with contextlib.suppress(Exception):  # another form
                mask = form(torch.full(_SAMPLE.shape, not hides)).to(self.device)
                masked = self._logits(_SAMPLE, {self._names["mask"]: mask})
                if torch.allclose(masked, plain, atol=1e-4, equal_nan=True):
                    return hides, form
        return forms[0]

    def __call__(self, token_ids: Tensor, cache: Cache | None = None, **options: Any) -> Tensor:
        """The logits, (batch, length, vocab_size); or those of the last token alone with a cache.

        Raises:
            NoLogits: the output is something else.
        """
        self.calls.append({"token_ids": token_ids, **({} if cache is None else {"cache": cache}), **options})
        if token_ids.shape[1] == 1 or cache is not None or not self.last_alone:
            return self._one(token_ids, cache, options)
        ends = range(1, token_ids.shape[1] + 1)
        cut = [{role: value[:, :end] for role, value in options.items()} for end in ends]
        parts = [self._one(token_ids[:, :end], None, more) for end, more in zip(ends, cut, strict=True)]
        return torch.cat(parts, dim=1)

    def _one(self, ids: Tensor, cache: Cache | None, options: dict[str, Any]) -> Tensor:
        given = {self._names[role]: self._formed(role, value) for role, value in options.items()}
        if cache is None and self._asks_targets:
            given[self._names["targets"]] = ids.to(self.device)
        if cache is not None:
            kept = {"cache": cache.value, "use_cache": True, "start_pos": cache.length}
            given |= {self._names[role]: value for role, value in kept.items() if role in self._names}
        logits = self._logits(ids, given, cache)
        if logits.shape[1] != ids.shape[1] and not self.last_alone:
            raise NoLogits((*ids.shape, "vocab_size"), logits)
        return logits

    def _formed(self, role: str, value: Any) -> Any:
        if role == "mask":
            hides, form = self.mask_form
            value = form(~value if hides else value)
        return value.to(self.device) if isinstance(value, Tensor) else value

    def _logits(self, ids: Tensor, given: dict[str, Any] | None = None, cache: Cache | None = None) -> Tensor:
        """The logits of all tokens or of the last, of one call."""
        given = {**({self._names["start_pos"]: 0} if self._needs_start else {}), **(given or {})}
        output = self._call(
            self.decoder if cache is None else cache.decoder, ids.to(self.device, copy=True), **given
        )
        if cache is not None:
            cache.advance(output, ids.shape[1])
        return _logits(output, ids)


def _call(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    return function(*args, **options)


def _started(decoder: Decoder, kind: type) -> Cache:
    return Cache(decoder, kind())


def _mask_forms(name: str) -> Iterator[tuple[bool, Callable[[Tensor], Tensor]]]:
    """Whether True hides, and what makes a mask: Hugging Face's has numbers, which mean one thing alone."""
    is_standard = name == "attention_mask"
    for hides in (False,) if is_standard else (False, True):
        for shape in ((), (None,), (None, None)):
            for dtype in (torch.long, torch.bool) if is_standard else (torch.bool, torch.long):
                yield hides, functools.partial(_mask, index=(slice(None), *shape), dtype=dtype)


def _mask(mask: Tensor, index: tuple[Any, ...], dtype: torch.dtype) -> Tensor:
    return mask[index].to(dtype)


def _parts(output: Any) -> Iterator[tuple[str | None, Any]]:
    """The things in an output, each with its name, if it has one."""
    if isinstance(output, dict):
        yield from output.items()
    elif hasattr(output, "__dict__") and not isinstance(output, Tensor | tuple | list):
        yield from vars(output).items()
    elif isinstance(output, tuple | list):
        names = getattr(output, "_fields", [None] * len(output))
        yield from zip(names, output, strict=True)
    else:
        yield None, output


def _logits(output: Any, ids: Tensor) -> Tensor:
    things = [*_parts(output)]
    named = [thing for name in _LOGITS for own, thing in things if own == name]
    found = [*named, *(thing for name, thing in things if name != "loss")]
    for thing in found:
        if isinstance(thing, Tensor) and thing.is_floating_point():
            thing = thing[:, None] if thing.ndim == 2 and thing.shape != ids.shape else thing
            if thing.ndim == 3 and len(thing) == len(ids) and thing.shape[1] in (1, ids.shape[1]):
                return thing.detach().cpu()
    raise NoLogits((*ids.shape, "vocab_size"), found[0] if found else output)


def _caches(output: Any) -> Iterator[Any]:
    things = [*_parts(output)]
    yield from (thing for name, thing in things if name in _CACHES and thing is not None)
    if all(name is None for name, _ in things):
        yield from (thing for _, thing in things[1:] if thing is not None and not isinstance(thing, Tensor))


def awakened(decoder: Any) -> Any:
    """A copy in which what begins at or near zero is random, so that it can show what it does.

    A matrix of which the products nearly vanish, and gates and biases of zero, get random numbers, always the
    same; a decoder without any is returned as it is.

    Example:
        >>> layer = nn.Linear(4, 4)
        >>> awakened(layer) is layer
        True
        >>> _ = nn.init.zeros_(layer.weight)
        >>> bool(awakened(layer).weight.any())
        True
    """
    if not isinstance(decoder, nn.Module):
        return decoder
    asleep = [name for name, parameter in decoder.named_parameters() if _sleeps(parameter)]
    if not asleep:
        return decoder
    try:
        decoder = copy.deepcopy(decoder)
    except Exception:  # what cannot be copied is judged as it is
        return decoder
    parameters, generator = dict(decoder.named_parameters()), torch.Generator().manual_seed(1)
    for name in asleep:
        parameter = parameters[name].data
        scale = (parameter.numel() / len(parameter)) ** -0.5 if parameter.ndim > 1 else 0.3
        parameter.copy_(torch.randn(parameter.shape, generator=generator) * scale)
    return decoder


def _sleeps(parameter: Tensor) -> bool:
    if nn.parameter.is_lazy(parameter) or not parameter.is_floating_point() or not parameter.numel():
        return False
    if parameter.ndim < 2:
        return not parameter.any()
    return bool(parameter.norm() < 0.3 * len(parameter) ** 0.5)


def is_meant_causal(decoder: Any) -> bool | None:
    """What a model says of itself: its class's name, a cache, `generate`, or a triangle among its buffers."""
    if not isinstance(decoder, nn.Module):
        return True
    for pattern, causal in _INTENDED:
        if pattern.search(type(decoder).__name__):
            return causal
    generates = any(hasattr(decoder, name) for name in ("generate", "new_cache"))
    triangles = any(_is_triangle(buffer) for buffer in decoder.buffers())
    return True if generates or triangles or DecoderAdapter(decoder).takes("cache") else None


def _is_triangle(buffer: Tensor) -> bool:
    if buffer.ndim < 2 or buffer.shape[-1] != buffer.shape[-2] or buffer.shape[-1] < 2:
        return False
    seen = (buffer.isfinite() & (buffer != 0)).reshape(-1, *buffer.shape[-2:])[0]
    return torch.equal(seen, seen.tril()) or torch.equal(seen, seen.triu())
