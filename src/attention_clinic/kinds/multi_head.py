"""Multi-head attention as a module, a class that makes one, or a function of tokens and matrices."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from attention_clinic.arguments import Subject, roles
from attention_clinic.cases import Case, Named, answer, oddest, same, samples, smallest
from attention_clinic.diagnosis import Finding
from attention_clinic.kinds.attention import visible
from attention_clinic.kinds.heads import Inputs, causal_outputs, diagnose_functions, outputs
from attention_clinic.kinds.modules import MAKING, build_module, evaluation_copy, readings
from attention_clinic.trial import CallFailed, Trial
from polyhead.masks import padding_mask, to_torch_mha_masks
from polyhead.multi_head import MultiHeadAttention

ROLES = roles(
    query="queries q x hidden_states inputs input tokens src tgt h xs",
    key="keys k memory encoder_hidden_states context",
    value="values v",
    mask="attention_mask masks m keep allowed visible attn_mask",
    valid_lens="valid_len lengths lens",
    key_padding_mask="padding_mask",
    need_weights="output_attentions return_weights return_attention need_weight",
)


def diagnose_multi_head(trial: Trial) -> Iterator[Finding]:
    """Findings about a module or what makes one; else about a function."""
    module = trial.candidate if isinstance(trial.candidate, nn.Module) else build_module(trial)
    if module is None:
        yield from diagnose_functions(trial)
        return
    trial.made = f"seeded_copy({trial.made})"
    with evaluation_copy(module) as own:
        yield from _Clinic(trial, own).findings()


class _Clinic:
    """A module under examination: the form of its inputs, and its parameters as projections.

    `heads` is the number of heads that the module declares: no other size may be the same.
    """

    def __init__(self, trial: Trial, module: nn.Module) -> None:
        self.module, self.subject = module, Subject(trial, ROLES, module)
        self.cross, self.sizes = True, list[tuple[int, int, int]]()
        self.form: Callable[[Tensor], dict[str, Any]] | None = None
        parameter = next((p for p in module.parameters() if p.is_floating_point()), None)
        self.dtype = torch.float32 if parameter is None else parameter.dtype
        self.readings = found = [*readings(module)]
        self.heads = {reading.num_heads for reading in found[:1]}
        self.twin = _twin(module)
        self.width = found[0].embed_dim if found else self._width()

    def _width(self) -> int:
        sizes = (getattr(self.module, name, None) for name in MAKING["embed_dim"])
        return next((size for size in sizes if type(size) is int), 12)

    def inputs(
        self, batch: int, queries: int, keys: int, masked: bool, digits: int | None = None
    ) -> tuple[Inputs, Tensor | None, dict[str, Any]]:
        """Tensors for the reference, its mask, and what the module is arguments."""
        shapes = (batch, queries, self.width), (batch, keys, self.width), (batch, keys, self.width)
        query, key, value = (x.to(self.dtype) for x in samples(*shapes, digits=digits))
        if not self.cross:
            key = value = query
        arguments: dict[str, Any] = {"query": query}
        if self.cross or "key" in self.subject.accepts - self.subject.optional:
            arguments |= {"key": key, "value": value}
        if not masked or self.form is None:
            return (query, key, value), None, arguments
        mask = visible((batch,), queries, key.shape[1])
        if {"valid_lens", "key_padding_mask"} & {*self.form(mask)}:
            lens = torch.arange(batch) % (key.shape[1] - 1) + 1
            mask = padding_mask(lens, key.shape[1]).expand(batch, queries, -1)
        return (query, key, value), mask, arguments | self.form(mask)

    def findings(self) -> Iterator[Finding]:
        """Yield conduct first, then differences from what the parameters give, then broken laws."""
        self._choose()
        _, _, arguments = self.inputs(*self.sizes[0], masked=True)
        unsteady = self.subject.difference_of_calls(**arguments)
        if unsteady:
            if not self.subject.without_dropout:
                yield unsteady
                return
            yield Finding("dropout_in_eval", unsteady.input, unsteady.expected, unsteady.actual)
        found = [*self._parity()]
        yield from found
        names = {finding.name for finding in found}
        if not names & {"raises", "shape", "dtype", "no_tensor"}:
            if not any(name.startswith("mask") for name in names):
                yield from self._blind()
            yield from self._looked()
            yield from self._dropped()

    def _choose(self) -> None:
        """Find the sizes that run, whether keys may differ from queries, and the form of the mask."""
        queries, keys = (next(n for n in two if n not in self.heads) for two in ((3, 4), (5, 7)))
        tries = [(True, (2, queries, keys)), (True, (2, keys, keys)), (False, (2, keys, keys))]
        for cross, sizes in tries if {"key", "value"} <= self.subject.accepts else tries[2:]:
            self.cross = cross
            result = self._output(self.inputs(*sizes, masked=False)[2])
            if not isinstance(result, CallFailed):
                self.sizes.append(sizes)
            elif not self.sizes and not cross:
                raise result
            if self.sizes and sizes[1] == sizes[2]:
                break
        batch, queries, keys = self.sizes[0]
        mask = visible((batch,), queries, keys)
        _, _, arguments = self.inputs(*self.sizes[0], masked=False)
        taken = (f for f in self._forms() if not isinstance(self._output(arguments | f(mask)), CallFailed))
        self.form = next(taken, None)

    def _output(self, arguments: dict[str, Any]) -> Tensor | CallFailed:
        return answer(self.subject, Case(arguments, torch.empty(0)))

    def _forms(self) -> list[Callable[[Tensor], dict[str, Any]]]:
        accepts, module = self.subject.accepts, self.module
        if isinstance(module, nn.MultiheadAttention):
            return [partial(_torch_masks, num_heads=module.num_heads)]
        forms: list[Callable[[Tensor], dict[str, Any]]] = []
        if "mask" in accepts:
            forms += [lambda m: {"mask": m}, lambda m: {"mask": m[:, None]}, lambda m: {"mask": m[0]}]
        if "valid_lens" in accepts:
            forms.append(lambda m: {"valid_lens": m[:, 0].sum(-1)})
        if "key_padding_mask" in accepts:
            forms.append(lambda m: {"key_padding_mask": ~m[:, 0]})
        return forms

    def case(
        self, batch: int, queries: int, keys: int, masked: bool = True, digits: int | None = None
    ) -> Case:
        """Inputs of these sizes, what the likeliest reading gives for them, and all others."""
        inputs, mask, arguments = self.inputs(batch, queries, keys, masked, digits)
        _, right = next(outputs(self.readings[0], inputs, mask, most=0))
        if self.twin is not None:
            right, *_ = self.twin(**arguments)
        return Case(arguments, right, lambda: self._mistakes(inputs, mask))

    def _mistakes(self, inputs: Inputs, mask: Tensor | None) -> Named:
        """Readings without a mistake, then the likeliest with up to two, then others with one."""
        declared = [reading for reading in self.readings if reading.is_declared]
        for reading in declared:
            yield from outputs(reading, inputs, mask, most=0)
            yield from causal_outputs(reading, inputs, mask)
        for number, reading in enumerate(declared):
            yield from outputs(reading, inputs, mask, most=1 if number else 2)

    def _parity(self) -> Iterator[Finding]:
        if not self.readings:
            yield from self._laws()
            return
        odd: tuple[Case, Tensor | CallFailed] | None = None
        for masked in (True, False) if self.form else (False,):
            for sizes in self.sizes:
                case = self.case(*sizes, masked=masked)
                result = answer(self.subject, case)
                names = None if isinstance(result, CallFailed) else case.names(result)
                if names:
                    small = (
                        self.case(batch, length, length, masked=masked, digits=1)
                        for batch, length in ((1, 2), (1, 3), (2, 2), (2, 3))
                        if length not in self.heads
                    )
                    yield from smallest(self.subject, case, result, names, small)
                    return
                odd = odd or (None if names == () else (case, result))
        if odd and (mixed := self._mixed()):
            yield mixed
        elif odd:
            yield oddest(self.subject, *odd, ())

    def _mixed(self) -> Finding | None:
        """Whether a sequence gives something else alone; also with as many sequences as heads."""
        for batch in (2, *self.heads - {1, 2}):
            _, _, arguments = self.inputs(batch, 5, 5, masked=True)
            together = self._output(arguments)
            for i in range(batch):
                alone = self._output({name: value[i : i + 1] for name, value in arguments.items()})
                if isinstance(alone, CallFailed) or isinstance(together, CallFailed):
                    break
                if not same(together[i : i + 1], alone):
                    return Finding("batch_mixed", arguments, alone, together[i : i + 1])
        return None

    def _laws(self) -> Iterator[Finding]:
        """Without readable parameters: sequences apart, and tokens in another order in another order."""
        _, _, arguments = self.inputs(2, 5, 5, masked=False)
        result = self._output(arguments)
        if isinstance(result, CallFailed):
            raise result
        mixed = self._mixed()
        if mixed:
            yield mixed
            return
        order = torch.tensor([3, 0, 4, 1, 2])
        moved = self._output({name: x[:, order] for name, x in arguments.items()})
        if not isinstance(moved, CallFailed) and not same(moved, result[:, order]):
            gap = (moved - result[:, order]).abs().max().item()
            yield Finding("differs", arguments, result[:, order], moved, {"difference": f"{gap:.2g}"})

    def _blind(self) -> Iterator[Finding]:
        """A note: what a query gets that may attend to nothing."""
        if self.form is None:
            return
        _, mask, arguments = self.inputs(1, 2, 2, masked=True, digits=1)
        if mask is None:
            return
        mask = mask.clone()
        mask[:, 0] = False
        if {"valid_lens", "key_padding_mask"} & {*arguments}:
            mask[:] = False
        result = self._output(arguments | self.form(mask))
        if not isinstance(result, CallFailed) and bool(result[:, 0].isnan().all()):
            yield Finding("mask_nan", arguments | self.form(mask), None, result)

    def _looked(self) -> Iterator[Finding]:
        """Whether asking for the weights changes the output."""
        if "need_weights" not in self.subject.accepts:
            return
        for sizes in ((1, 2, 2), (2, 5, 5)):
            for masked in (True, False):
                _, _, arguments = self.inputs(*sizes, masked=masked, digits=1)
                plain, looked = (self._output(arguments | {"need_weights": asked}) for asked in (False, True))
                if isinstance(plain, CallFailed) or isinstance(looked, CallFailed):
                    continue
                if not same(looked, plain):
                    yield Finding("weights_change_output", arguments, plain, looked)
                    return

    def _dropped(self) -> Iterator[Finding]:
        """A note: weights that are arguments in training and whose rows do not sum to 1."""
        _, _, arguments = self.inputs(*self.sizes[-1], masked=False)
        if "need_weights" in self.subject.accepts:
            arguments |= {"need_weights": True}
        before = self._row_sums(arguments)
        try:
            self.module.train()
            after = self._row_sums(arguments)
        finally:
            self.module.eval()
        if before is not None and after is not None and not torch.allclose(before, after, atol=1e-4):
            yield Finding("weights_after_dropout", arguments, before, after)

    def _row_sums(self, arguments: dict[str, Any]) -> Tensor | None:
        """Of the weights, where they come second."""
        try:
            output = self.subject.outputs(**arguments)
        except CallFailed:
            return None
        weights = output[1] if isinstance(output, tuple) and len(output) > 1 else None
        length = self.sizes[-1][-1]
        if not isinstance(weights, Tensor) or weights.shape[-2:] != (length, length):
            return None
        return weights.detach().sum(dim=-1)


def _twin(module: nn.Module) -> MultiHeadAttention | None:
    """The book's own module with the options and parameters of one that is derived from it."""
    if not isinstance(module, MultiHeadAttention):
        return None
    twin = copy.copy(module)
    twin.__class__ = MultiHeadAttention
    return twin


def _torch_masks(mask: Tensor, num_heads: int) -> dict[str, Any]:
    """For PyTorch's own module, where True means ignore."""
    return {"mask": to_torch_mha_masks(mask, num_heads)["attn_mask"]} if mask.shape[1] > 1 else {}
