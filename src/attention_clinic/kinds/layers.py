"""Layers of encoders and decoders: what is added to what, in which norms, and the parts themselves."""

import contextlib
import itertools
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from attention_clinic.arguments import ROLES, Subject, signature
from attention_clinic.cases import Output, same, samples
from attention_clinic.diagnosis import FINDINGS, Finding
from attention_clinic.kinds.examination import WRONG_PATTERNS
from attention_clinic.kinds.modules import evaluation_copy, readings
from attention_clinic.kinds.multi_head import TURNS, diagnose_multi_head
from attention_clinic.kinds.norms import diagnose_norm, is_norm, kinds_of_norm
from attention_clinic.kinds.positions import angles_of, tables_of
from attention_clinic.trial import CallFailed, Trial, first_output

# Found in a part, these say that it was not called as the layer calls it.
_UNLIKE = {*FINDINGS["names"]["part"]} | FINDINGS["misfit"].keys()
_OPEN = {"causal_open", *WRONG_PATTERNS}


class Step(NamedTuple):
    """One call of a module inside a layer."""

    module: nn.Module
    input: Tensor
    output: Tensor
    switches: dict[str, Any]  # what else it was given, but for tensors


def is_layer(module: nn.Module) -> bool:
    """Whether a module calls itself a layer or block, and has norms and more matrices than attention."""
    parts, name = [*module.modules()], type(module).__name__.lower()
    matrices = sum(isinstance(each, nn.Linear | nn.MultiheadAttention) for each in parts)
    return ("layer" in name or "block" in name) and any(map(is_norm, parts)) and matrices >= 3


def diagnose_layer(trial: Trial) -> Iterator[Finding]:
    """Findings about a module (x[, memory]) to x of the same size."""
    trial.made = f"seeded_copy({trial.made})"
    own = evaluation_copy(trial.candidate)
    subject = Subject(trial, ROLES["layer"], own, {*TURNS})
    width = next(each.numel() for part in own.modules() if is_norm(part) for each in part.parameters())
    x, memory = samples((2, 5, width), (2, 5, width))
    tokens = {"x": x, "memory": memory} if "memory" in subject.required else {"x": x}
    turns = {*TURNS} & subject.required
    found_in = filter(None, map(readings, own.modules() if turns else []))
    sizes = dict.fromkeys(each[0].head_dim for each in found_in) or [2]
    for tables in [each for size in sizes for each in tables_of(turns, angles_of(torch.arange(5), size))]:
        inputs = {**tokens, **tables}
        steps, output = _watched(own, subject, inputs)
        if not isinstance(output, CallFailed):
            break
    if isinstance(output, CallFailed):
        yield Finding("not_called", inputs, details={"error": output.finding.details.get("error", "")})
        return
    yield from _batch(trial, subject, inputs, output)
    names = [*_residuals([step for step in steps if step.module is not own], x, output)]
    yield from (Finding(name, inputs, None, output) for name in dict.fromkeys(names))
    trial.examined.append("residual")
    found = [*_parts(trial, own, {step.module: step for step in steps})]
    leaks = _leaks(subject, inputs, output)
    yield from (each for each in found if each.name != "causal_open" or leaks)
    if trial.meant.causal and leaks and _OPEN.isdisjoint(each.name for each in found):
        yield Finding("causal_open", inputs)


def _watched(own: nn.Module, subject: Subject, inputs: dict[str, Any]) -> tuple[list[Step], Output]:
    """Every call inside, in the order in which they end."""
    steps = list[Step]()

    def keep(module: nn.Module, given: tuple[Any, ...], options: dict[str, Any], output: Any) -> None:
        first = first_output(output)
        tensors = [x for x in (*given, *options.values()) if isinstance(x, Tensor)]
        if tensors and isinstance(first, Tensor):
            named = {**dict(zip((p.name for p in signature(module) or []), given, strict=False)), **options}
            switches = {name: x for name, x in named.items() if isinstance(x, bool | int | str)}
            steps.append(Step(module, tensors[0].detach().clone(), first.detach().clone(), switches))

    within_norms = {part for norm in own.modules() if is_norm(norm) for part in norm.children()}
    with contextlib.ExitStack() as hooks:
        for part in {*own.modules()} - within_norms:
            hooks.enter_context(part.register_forward_hook(keep, with_kwargs=True))
        return steps, subject.answer(inputs)


def _batch(trial: Trial, subject: Subject, inputs: dict[str, Any], output: Tensor) -> Iterator[Finding]:
    """Sequences apart; where the sequence comes first, a note."""
    trial.examined.append("batch")
    for axis, name in ((0, ""), (1, "sequence_first")):
        tokens = {role: inputs[role] for role in ("x", "memory") if role in inputs}
        alone = subject.answer(inputs | {role: x.narrow(axis, 0, 1) for role, x in tokens.items()})
        if same(alone, output.narrow(axis, 0, 1)):
            yield from [Finding(name, inputs)] if name else []
            return
    yield Finding("batch_mixed", inputs, alone, output[:1])


def _leaks(subject: Subject, inputs: dict[str, Any], output: Tensor) -> bool:
    """Whether another last token, or in (num_tokens, batch, size) another last row, changes the first."""
    ends = torch.tensor([1.0, -1.0])[:, None, None], torch.tensor([1.0, 1.0, 1.0, 1.0, -1.0])[:, None]
    others = (subject.answer({**inputs, "x": end * inputs["x"]}) for end in ends)
    return not all(isinstance(each, Tensor) and same(each[:1, :1], output[:1, :1]) for each in others)


def _residuals(steps: list[Step], x: Tensor, output: Tensor) -> Iterator[str]:
    """What is wrong with the sums that enter norms and leave the layer.

    The stream is x, then what was added to it: with the norm before a part the sums themselves, with the norm
    after it their norms.
    """
    norms = [step for step in steps if is_norm(step.module) and step.input.shape == x.shape]
    parts = [step.output for step in steps if not is_norm(step.module) and step.output.shape == x.shape]
    if not norms:
        return
    before, after, normed = same(norms[0].input, x), same(output, norms[-1].output), [n.output for n in norms]
    sums = [step.input for step in (norms[1:] if before else norms)]
    sums += [output] if before or not after else []
    streams = [x]
    for number, total in enumerate(sums):
        added = [*parts, *normed]
        added += [one + two for one, two in itertools.combinations(added, 2)]  # attention beside feed-forward
        if not _is_sum(total, streams[-1:], added):
            if any(same(part, total) for part in parts):
                own = [norm.output for norm in norms if same(norm.input, total)]
                if any(_is_sum(each, streams[-1:], own) for each in sums[number:]):
                    continue  # the norm of a part, which is added then
                yield "residual_missing"
            elif _is_sum(total, streams[:-1], parts):
                yield "residual_from_start"
            else:
                yield "residual_normed" if _is_sum(total, normed, parts) else "not_compared"
        streams.append(total if before or number >= len(normed) else normed[number])


def _is_sum(total: Tensor, streams: list[Tensor], parts: list[Tensor]) -> bool:
    return any(same(stream + part, total) for stream in streams for part in parts)


def _parts(trial: Trial, own: nn.Module, steps: dict[nn.Module, Step]) -> Iterator[Finding]:
    """What norms have, and what attends, the layer last; a doubt where that does not give known numbers."""
    known, unknown = set[nn.Module](), list[nn.Module]()
    _, *inside = own.modules()
    for part in (*inside, own):
        is_of_torch = type(part).__module__.split(".")[0] == "torch"
        if is_norm(part):
            yield from () if is_of_torch else _part(Trial(part), trial, {})
        elif known.isdisjoint(part.modules()) and readings(part):
            mixes = part in steps and not is_of_torch and _mixes(trial, steps[part])
            if not mixes and "att" not in type(part).__name__.lower():
                continue
            tried = Trial(part)
            found = [*_part(tried, trial, steps[part].switches if part in steps else {})]
            yield from found
            if found or "numbers" in tried.examined:
                trial.examined.append("numbers")
                known |= {*part.modules()}
            elif part in steps:
                unknown.append(part)
    is_by_token = own in steps and not _mixes(trial, steps[own])
    if any(known.isdisjoint(part.modules()) for part in unknown) or not (known or is_by_token):
        trial.skipped.append("numbers")
        yield Finding("not_compared")


def _part(own: Trial, trial: Trial, switches: dict[str, Any]) -> Iterator[Finding]:
    """Findings about a norm, or about attention, called with the switches that the layer sets.

    To PyTorch's own attention `is_causal` is but a hint about a mask.
    """
    part, own.seconds, own.meant = own.candidate, trial.seconds, trial.meant
    own.on_purpose, own.end = trial.on_purpose, trial.end
    if not isinstance(part, nn.MultiheadAttention):
        vars(part)["forward"] = partial(part.forward, **switches)
    found = diagnose_norm(own, kinds_of_norm(part)[0]) if is_norm(part) else diagnose_multi_head(own)
    try:
        with contextlib.suppress(CallFailed):
            yield from (finding for finding in found if finding.name not in _UNLIKE)
    finally:
        vars(part).pop("forward", None)


def _mixes(trial: Trial, step: Step) -> bool:
    """Whether it gives something else where each token is a sequence of its own."""
    try:
        output = trial.call(lambda x: first_output(step.module(x.flatten(0, -2)[:, None])), step.input)
    except CallFailed:
        return True
    return not isinstance(output, Tensor) or not same(output.flatten(), step.output.flatten())
