"""Whole models of anybody's, called in one way: token ids, a mask and a cache in, all logits out."""

import contextlib
import copy
import functools
import itertools
import operator
import re
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from attention_clinic.arguments import ROLES, named_parameters
from attention_clinic.diagnosis import Finding
from attention_clinic.kinds.examination import KEYS, Form, is_triangle
from attention_clinic.seeded import around, copied, has_numbers, randomize
from attention_clinic.trial import CallFailed

Decoder = Callable[..., Any]

MODEL = ROLES["decoder"]
_SAMPLE = torch.zeros(2, 3, dtype=torch.long)
_CACHES = (*MODEL["cache"], "new_cache", "present", "presents")
_LOGITS = ("logits", "prediction_logits", "last_hidden_state")
_INTENDED = (
    (re.compile("bert|encoder|maskedlm|mlm|classif", re.IGNORECASE), False),
    (re.compile("gpt|causal|decoder|llama", re.IGNORECASE), True),
)


class NoLogits(CallFailed, TypeError):
    """The output of a decoder has not the shape of logits."""

    def __init__(self, expected: tuple[object, ...], output: object) -> None:
        """Take that shape, and what the decoder returned."""
        shape, found = tuple(getattr(output, "shape", ())), type(output).__name__
        is_tensor = isinstance(output, Tensor)
        details = {"expected": expected, "actual": shape} if is_tensor else {"type": found}
        super().__init__(Finding("shape" if is_tensor else "no_tensor", details=details))
        self.args = (f"a decoder must give logits, {expected}, got {shape if is_tensor else found}",)


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
        things = _parts(output)
        named = [thing for name, thing in things if name in _CACHES]
        # Without names, it is what comes after the logits and is no tensor.
        others = [thing for name, thing in things[1:] if name is None and not isinstance(thing, Tensor)]
        self.value = next((thing for thing in (*named, *others) if thing is not None), self.value)
        self.length += length


class DecoderAdapter:
    """A decoder with one set of argument names, that of `MODEL`, and with logits as its output.

    The cache may be an object of the decoder's `new_cache`, what a call returns, or inside a module that is
    called with `use_cache=True` or `start_pos`. `calls` keeps the arguments of each call, `names` has the
    decoder's own names of arguments by their roles.

    Example:
        >>> decoder = DecoderAdapter(lambda input_ids: torch.zeros(*input_ids.shape, 7))
        >>> decoder(torch.tensor([[3, 1]])).shape, decoder.takes("mask")
        (torch.Size([1, 2, 7]), False)
    """

    def __init__(self, decoder: Decoder, call: Callable[..., Any] = operator.call) -> None:
        """Read the signature; `call(decoder, token_ids, **options)` is how the decoder is called."""
        parameters = named_parameters(decoder, MODEL)
        self.names = {role: parameter.name for role, parameter in parameters.items()}
        start = parameters.get("start_pos")
        self._needs_start = start is not None and start.default is start.empty
        self.decoder, self.call = decoder, call
        self.module = decoder if isinstance(decoder, nn.Module) else nn.Identity()
        self.calls: list[dict[str, Any]] = []
        self.device = next((parameter.device for parameter in self.module.parameters()), torch.device("cpu"))

    def takes(self, role: str) -> bool:
        """Whether the decoder has an argument for a role, or a cache."""
        return self._empty_cache is not None if role == "cache" else role in self.names

    @functools.cached_property
    def vocab_size(self) -> int:
        """A number of token ids that the decoder has."""
        size = self(torch.zeros(1, 1, dtype=torch.long)).shape[-1]
        tables = [part for part in self.module.modules() if isinstance(part, nn.Embedding)]
        return min([size, *(table.num_embeddings for table in tables if table.num_embeddings > 4)])

    @functools.cached_property
    def last_alone(self) -> bool:
        """Whether a call gives the logits of the last token alone, with or without targets."""
        return self._logits(_SAMPLE).shape[1] == 1 and not self._asks_targets

    @functools.cached_property
    def _asks_targets(self) -> bool:
        """Whether only a call with targets gives all logits."""
        if "targets" not in self.names or self._logits(_SAMPLE).shape[1] > 1:
            return False
        return self._logits(_SAMPLE, {self.names["targets"]: _SAMPLE.to(self.device)}).shape[1] > 1

    @functools.cached_property
    def _empty_cache(self) -> Callable[[], Any] | None:
        """What makes the first value of a cache; None if the decoder has no cache."""
        kinds: list[Callable[[], Any]] = [lambda: None, dict, list]
        if "cache" not in self.names:
            return kinds[0] if {"use_cache", "start_pos"} & {*self.names} else None
        if callable(new := getattr(self.decoder, "new_cache", None)):
            return functools.partial(self.call, new)
        return next((kind for kind in kinds if self._fills(kind())), None)

    def _fills(self, value: Any) -> bool:
        """Whether a call fills a cache that begins with a value."""
        cache = Cache(self.decoder, value)
        with contextlib.suppress(Exception):  # an empty cache of another kind
            self._one(_SAMPLE[:1, :1], cache, {})
        return cache.value is not None and (not isinstance(cache.value, dict | list) or bool(cache.value))

    def new_cache(self) -> Cache:
        """An empty cache for one batch of sequences."""
        assert self._empty_cache is not None
        decoder = self.decoder if "cache" in self.names else copy.deepcopy(self.decoder)  # keeps it inside
        return Cache(decoder, self._empty_cache())

    @functools.cached_property
    def mask_form(self) -> Form:
        """The form in which a mask that hides nothing changes nothing."""
        plain, name = self._logits(_SAMPLE), self.names["mask"]
        # Hugging Face's masks have numbers, which mean one thing alone.
        is_number = name == "attention_mask"
        meanings = ["keeps"] if is_number else ["keeps", "hides"]
        ways = itertools.product(["mask"], meanings, KEYS, (is_number, not is_number))
        forms = list(itertools.starmap(Form, ways))
        whole = torch.ones(_SAMPLE.shape, dtype=torch.bool)
        for form in forms:
            with contextlib.suppress(Exception):  # another form
                mask = form.of_keys(whole).to(self.device)
                if torch.allclose(self._logits(_SAMPLE, {name: mask}), plain, atol=1e-4, equal_nan=True):
                    return form
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
        formed = {role: self.mask_form.of_keys(x) if role == "mask" else x for role, x in options.items()}
        given = {self.names[k]: x.to(self.device) if isinstance(x, Tensor) else x for k, x in formed.items()}
        if cache is None and self._asks_targets:
            given[self.names["targets"]] = ids.to(self.device)
        if cache is not None:
            kept = {"cache": cache.value, "use_cache": True, "start_pos": cache.length}
            given |= {self.names[role]: value for role, value in kept.items() if role in self.names}
        logits = self._logits(ids, given, cache)
        if logits.shape[1] != ids.shape[1] and not self.last_alone:
            raise NoLogits((*ids.shape, "vocab_size"), logits)
        return logits

    def _logits(self, ids: Tensor, given: dict[str, Any] | None = None, cache: Cache | None = None) -> Tensor:
        """The logits of all tokens or of the last, of one call."""
        start = {self.names["start_pos"]: 0} if self._needs_start else {}
        decoder = self.decoder if cache is None else cache.decoder
        output = self.call(decoder, ids.to(self.device, copy=True), **start | (given or {}))
        if cache is not None:
            cache.advance(output, ids.shape[1])
        return _logits(output, ids)


def _parts(output: Any) -> list[tuple[str | None, Any]]:
    """The things in an output, each with its name, if it has one."""
    if isinstance(output, tuple | list):
        return [*zip(getattr(output, "_fields", [None] * len(output)), output, strict=True)]
    if isinstance(output, Tensor) or not (isinstance(output, dict) or hasattr(output, "__dict__")):
        return [(None, output)]
    return [*(output if isinstance(output, dict) else vars(output)).items()]


def _logits(output: Any, ids: Tensor) -> Tensor:
    things = _parts(output)
    named = [thing for name in _LOGITS for own, thing in things if own == name]
    found = [*named, *(thing for name, thing in things if name != "loss")]
    for thing in found:
        if isinstance(thing, Tensor) and thing.is_floating_point():
            thing = thing[:, None] if thing.ndim == 2 and thing.shape != ids.shape else thing
            if thing.ndim == 3 and len(thing) == len(ids) and thing.shape[1] in (1, ids.shape[1]):
                return thing.detach().cpu()
    raise NoLogits((*ids.shape, "vocab_size"), found[0] if found else output)


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
    awake = copied(decoder) if any(map(_sleeps, decoder.parameters())) else None
    if awake is None:  # what cannot be copied is judged as it is
        return decoder
    randomize(awake, gain=1.0, of_vectors=0.3, chosen=_sleeps)
    return awake


def _sleeps(parameter: Tensor) -> bool:
    if not has_numbers(parameter) or parameter.ndim < 2:
        return has_numbers(parameter) and not parameter.any()
    return bool(parameter.norm() < 0.3 * len(parameter) ** 0.5)


def is_meant_causal(decoder: Any) -> bool | None:
    """What a model says of itself: its class's name, a cache, `generate`, or a triangle among its buffers."""
    if not isinstance(decoder, nn.Module):
        inner = [is_meant_causal(each) for each in around(decoder)]
        return True if not inner or True in inner else inner[0]
    for pattern, causal in _INTENDED:
        if pattern.search(type(decoder).__name__):
            return causal
    generates = any(hasattr(decoder, name) for name in ("generate", "new_cache"))
    triangles = any(map(is_triangle, decoder.buffers()))
    return True if generates or triangles or DecoderAdapter(decoder).takes("cache") else None
