"""Multi-head attention as a module, a class that makes one, or a function of tokens and matrices."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal

import torch
from torch import Tensor, nn

from attention_clinic.arguments import Subject, roles
from attention_clinic.cases import Case, Names, answer, is_all_nan, oddity, same, samples
from attention_clinic.diagnosis import Finding
from attention_clinic.kinds.attention import visible
from attention_clinic.kinds.conventions import PATTERNS, WRONG_PATTERNS, Form, forms
from attention_clinic.kinds.heads import Frame, Inputs, Recipe, Turn, diagnose_functions, recipes
from attention_clinic.kinds.modules import (
    MAKING,
    Reading,
    build_module,
    evaluation_copy,
    is_read,
    norm_size,
    norms_of,
    readings,
)
from attention_clinic.seeded import randomize
from attention_clinic.trial import CallFailed, Trial
from polyhead.multi_head import MultiHeadAttention
from polyhead.positions import RotaryPositions

ROLES = roles(
    query="queries q x hidden_states inputs input tokens src tgt h xs x_q inputs_q",
    key="keys k memory encoder_hidden_states context x_kv inputs_kv y key_value_states",
    value="values v",
    mask="attention_mask masks m keep allowed visible attn_mask",
    valid_lens="valid_len lengths lens",
    key_padding_mask="padding_mask",
    need_weights="output_attentions return_weights return_attention need_weight",
    cos="freqs_cos", sin="freqs_sin", freqs="freqs_cis", position_embeddings="",
)  # fmt: skip
BY_POSITION = ("query", "key", "value", "mask")
TURNS = ("cos", "sin", "freqs", "position_embeddings")
Pairs = Literal["halves", "neighbours"]
# How many recipes are computed for one output that has no known mistake: about a second.
MOST_RECIPES = 3000
# How the module has its tokens, from (batch, num_tokens, size).
LAYOUTS: dict[str, Callable[[Tensor], Tensor]] = {
    "batch": lambda x: x, "single": lambda x: x[0], "sequence": lambda x: x.transpose(0, 1),
}  # fmt: skip


def diagnose_multi_head(trial: Trial) -> Iterator[Finding]:
    """Findings about a module or what makes one; else about a function."""
    module = trial.candidate if isinstance(trial.candidate, nn.Module) else build_module(trial)
    if module is None:
        yield from diagnose_functions(trial)
        return
    trial.made = f"seeded_copy({trial.made})"
    with evaluation_copy(module) as own:
        if any(nn.parameter.is_lazy(parameter) for parameter in own.parameters()):
            _Clinic(trial, own).choose()
            randomize(own)
            trial.made = ""  # such a call comes first
        yield from _Clinic(trial, own).findings()


@dataclass(frozen=True)
class _Call:
    """One call of the module: tensors and mask for the reference, and what the module is given."""

    inputs: Inputs
    mask: Tensor | None
    arguments: dict[str, Any]


@dataclass(frozen=True)
class _Match:
    """What gives the module's output: the recipe, the reading, the frame, and the mistakes in them."""

    names: Names
    reading: Reading
    recipe: Recipe
    frame: Frame


class _Clinic:
    """A module under examination: how it is called, and its parameters as projections.

    `heads` is the number of heads that the module declares: no other size may be the same.
    """

    def __init__(self, trial: Trial, module: nn.Module) -> None:
        declared = "hides" if isinstance(module, nn.MultiheadAttention) else trial.meant.mask
        self.trial, self.meant = trial, replace(trial.meant, mask=declared)
        self.module, self.subject = module, Subject(trial, ROLES, module, ROLES.keys() - {*BY_POSITION})
        self.cross, self.sizes, self.layout = True, list[tuple[int, int, int]](), "batch"
        self.form: Form | None = None
        self.extra: Callable[[int], dict[str, Any]] = lambda length: {}
        parameter = next((p for p in module.parameters() if p.is_floating_point()), None)
        self.dtype = torch.float32 if parameter is None else parameter.dtype
        self.readings = [*readings(module)]
        self.heads = {reading.num_heads for reading in self.readings[:1]}
        self.twin = _twin(module)
        self.widths: tuple[int, ...] = self.readings[0].widths if self.readings else (self._width(),) * 3
        self.subject.shape_of = lambda inputs: (*inputs["query"].shape[:-1], self.widths[2])
        self.remarked: set[str] = set()

    def _width(self) -> int:
        sizes = (getattr(self.module, name, None) for name in MAKING["embed_dim"])
        norms = (norm_size(norm) for _, norm in norms_of(self.module))
        return next((size for size in (*sizes, *norms) if type(size) is int), 12)

    # ---- calls

    def call(
        self, batch: int, queries: int, keys: int, form: Form | None = None, digits: int | None = None
    ) -> _Call:
        """A call with such sizes, and with a mask in this form."""
        query_width, key_width, _ = self.widths
        batch = 1 if self.layout == "single" else batch
        shapes = (batch, queries, query_width), *[(batch, keys, key_width)] * 2
        query, key, value = (x.to(self.dtype) for x in samples(*shapes, digits=digits))
        if not self.cross:
            key = value = query
        elif "value" not in self.subject.accepts:
            value = key
        place, accepts = LAYOUTS[self.layout], self.subject.accepts
        given = {"query": query}
        if self.cross or "key" in accepts - self.subject.optional:
            given |= {"key": key, "value": value}
        arguments: dict[str, Any] = {name: place(x) for name, x in given.items() if name in accepts}
        arguments |= self.extra(queries)
        mask = None
        if form is not None:
            mask = visible((batch,), queries, keys)
            mask = form.effective(mask | torch.eye(queries, dtype=torch.bool) if queries == keys else mask)
            arguments |= form.given(mask, *(self.heads or {1}))
        elif "mask" in accepts - self.subject.optional:
            whole = self.form or Form("mask", self.meant.mask or "keeps", lambda mask, heads: mask[0])
            arguments |= whole.given(torch.ones(batch, queries, keys, dtype=torch.bool), *(self.heads or {1}))
        return _Call((query, key, value), mask, arguments)

    def output(self, arguments: dict[str, Any]) -> Tensor | CallFailed:
        """What the module gives, or why it gives nothing."""
        return answer(self.subject, Case(arguments, torch.empty(0)))

    def choose(self) -> None:
        """Find the sizes and the layout that run, and whether keys may differ from queries.

        Raises:
            CallFailed: none does.
        """
        queries, keys = (next(n for n in two if n not in self.heads) for two in ((3, 4), (5, 7)))
        batch = 2 if 2 not in self.heads else 4
        tries = [(True, (batch, queries, keys)), (True, (batch, keys, keys)), (False, (batch, keys, keys))]
        required = self.subject.accepts - self.subject.optional
        keyed = "key" in required or {"key", "value"} <= self.subject.accepts
        first: CallFailed | None = None
        for layout, extra in itertools.product(("batch", "single"), self._extras()):
            self.layout, self.extra = layout, extra
            for cross, sizes in tries if keyed else tries[2:]:
                if self.sizes and self.sizes[-1][1] == self.sizes[-1][2]:
                    break
                self.cross = cross
                result = self.output(self.call(*sizes).arguments)
                if not isinstance(result, CallFailed):
                    self.sizes.append(sizes)
                first = first or (result if isinstance(result, CallFailed) else None)
            if self.sizes:
                break
        if not self.sizes:
            assert first is not None
            raise first
        kept = [reading for reading in self.readings if reading.widths[2] == reading.widths[0]]
        result = self.output(self.call(*self.sizes[0]).arguments)
        if not isinstance(result, CallFailed) and result.shape[-1] == self.widths[0] != self.widths[2]:
            self.readings, self.widths = kept, (self.widths[0],) * 3  # tokens of as many features come out
        declared = isinstance(self.module, nn.MultiheadAttention)
        inner = any(isinstance(part, nn.MultiheadAttention) for part in self.module.modules())
        if (declared or not inner) and self.layout == "batch" and self._mixes_rows():
            self.layout = "sequence"

    def _feels(self, change: Callable[[Tensor], object], at: tuple[slice | int, ...]) -> bool:
        """Whether the output there is another when the tokens (batch, num_tokens, size) are changed."""
        place, arguments = LAYOUTS[self.layout], self.call(*self.sizes[-1]).arguments
        tokens = {name: arguments[name] for name in ("query", "key", "value") if name in arguments}
        changed = {name: self._rows(x).clone() for name, x in tokens.items()}
        for x in changed.values():
            change(x)
        plain = self.output(arguments)
        result = self.output(arguments | {name: place(x) for name, x in changed.items()})
        if isinstance(plain, CallFailed) or isinstance(result, CallFailed):
            return True
        return not same(self._rows(result)[at], self._rows(plain)[at])

    def _rows(self, x: Tensor) -> Tensor:
        """(batch, num_tokens, size), from the module's layout."""
        return x[None] if self.layout == "single" else LAYOUTS[self.layout](x)

    def _mixes_rows(self) -> bool:
        """Whether the first dimension is that of tokens, and the second that of sequences."""
        return self._feels(lambda x: x[:-1].add_(1), (-1, -1)) and not self._feels(
            lambda x: x[:, :-1].add_(1), (-1, -1)
        )

    def _leaks(self) -> bool:
        """Whether another last token changes the first output."""
        return self._feels(lambda x: x[:, -1].add_(1), (slice(None), 0))

    def _depends_on_order(self) -> bool:
        """Whether an output at an end changes when the other tokens change places."""

        def turned(others: slice) -> Callable[[Tensor], object]:
            return lambda x: x[:, others].copy_(x[:, others].flip(1))

        ends = (slice(1, None), 0), (slice(-1), -1)
        return any(self._feels(turned(others), (slice(None), end)) for others, end in ends)

    def _extras(self) -> list[Callable[[int], dict[str, Any]]]:
        """Sines and cosines of rotary positions, where the module takes them, in the usual forms."""
        taken = {*TURNS} & self.subject.accepts
        if not taken or not self.readings:
            return [lambda length: {}]
        half = self.readings[0].head_dim // 2

        def whole(length: int) -> dict[str, Any]:
            halves = halved(length)
            pair = [halves[name].repeat(1, 2) for name in ("cos", "sin")]
            return {"cos": pair[0], "sin": pair[1], "position_embeddings": tuple(each[None] for each in pair)}

        def halved(length: int) -> dict[str, Any]:
            angles = torch.arange(length)[:, None] / 1e4 ** (torch.arange(half) / half)
            return {"cos": angles.cos(), "sin": angles.sin(), "freqs": torch.exp(1j * angles)}

        def of(make: Callable[[int], dict[str, Any]]) -> Callable[[int], dict[str, Any]]:
            return lambda length: {role: x for role, x in make(length).items() if role in taken}

        return [of(make) for make in (whole, halved) if taken <= make(1).keys()] or [lambda length: {}]

    # ---- what may stand around attention

    def frames(self) -> list[Frame]:
        """All that may stand around it, as far as the module behaves so."""
        depends = self._depends_on_order()
        patterns = ["open", "causal"] if self._leaks() else ["causal", "open"]
        intended = self.meant.causal is True or (self.meant.causal is None and self._intends_causality())
        wrong = {"open": ("causal_open",)} if intended else {}
        found = [
            replace(frame, turns=turns, pattern=PATTERNS[pattern], names=(*wrong.get(pattern, ()), *names))
            for frame in self._surroundings()
            for pattern in patterns
            for turns, names in self._turns(depends)
        ]
        return sorted(found, key=lambda frame: len(frame.names))

    def _intends_causality(self) -> bool:
        """Whether a module that takes no mask is called causal, or holds a triangle."""
        if "mask" in self.subject.accepts:
            return False
        triangles = (b.squeeze() for b in self.module.buffers() if b.ndim >= 2)
        square = (b for b in triangles if b.ndim == 2 and b.shape[0] == b.shape[1] > 1)
        return "causal" in type(self.module).__name__.lower() or any(
            bool((b.triu(1) == 0).all()) != bool((b.tril(-1) == 0).all()) for b in square
        )

    def _surroundings(self) -> list[Frame]:
        """Norms and a residual: those with which a module whose projections are zero gives what it gives."""
        width = self.widths[0]
        norms = [norm for _, norm in norms_of(self.module) if norm_size(norm) == width]
        pairs = [(norm, norm) for norm in norms] + ([(norms[0], norms[1])] if len(norms) > 1 else [])
        every = [
            Frame(before, residual, after)
            for before in (None, *pairs)
            for after in (None, *norms)
            for residual in ("", "raw", "normed" if before else "")[: 3 if before else 2]
        ]
        call = self.call(*self.sizes[-1])
        kept = {name: p.detach().clone() for name, p in self.module.named_parameters()}
        of_norms = {id(p) for _, norm in norms_of(self.module) for p in norm.parameters()}
        with torch.no_grad():
            for parameter in self.module.parameters():
                if id(parameter) not in of_norms:
                    parameter.zero_()
            silent = self.output(call.arguments)
            place, nothing = LAYOUTS[self.layout], torch.zeros_like(call.inputs[0])
            fitting = [
                frame
                for frame in every
                if not isinstance(silent, CallFailed)
                and silent.shape == place(nothing).shape
                and same(silent, place(frame.leave(nothing, call.inputs)))
            ]
            for name, parameter in self.module.named_parameters():
                parameter.copy_(kept[name])
        return fitting or every[:1]

    def _turns(self, depends: bool) -> list[tuple[tuple[Turn, Turn] | None, Names]]:
        """Rotary positions in both layouts, where the order of tokens matters, and what they may lack."""
        given = bool({*TURNS} & self.subject.accepts and self.extra(1))
        own = (getattr(self.module, name, None) for name in ("rope_theta", "rope_base", "theta", "base"))
        declared = [float(base) for base in own if isinstance(base, int | float)]
        layouts: tuple[Pairs, ...] = ("halves", "neighbours")
        turns: list[tuple[tuple[Turn, Turn] | None, Names]] = []
        if not (given and depends):
            turns.append((None, ("rotary_unturned",) if self.meant.rope else ()))
        for base, pairs in itertools.product([1e4] if given else declared[:1] or [1e4, 5e5, 1e6], layouts):
            turn = _turn(base, pairs)
            right = () if self.meant.rope in (None, pairs) else ("rotary_layout",)
            turns += [((turn, turn), right)] if depends else []
            if base == (declared or [1e4])[0]:  # turned queries alone do not show in the order of keys
                turns.append(((turn, lambda x: x), ("rotary_queries_only",)))
                turns += [((_turn(base, pairs, -1),) * 2, ("rotary_sign",))] if depends else []
        return turns

    # ---- comparison

    def search(
        self, call: _Call, results: list[Tensor], frames: list[Frame], num_rounds: int | None
    ) -> tuple[int, _Match] | None:
        """Which of the results, of calls that differ in the form of a mask alone, has which mistakes.

        The fewest mistakes come first, in rounds; the likeliest reading may have two.
        """
        declared = [reading for reading in self.readings if reading.is_declared]
        hidden = "" if call.mask is None else "mask"
        place, left = LAYOUTS[self.layout], MOST_RECIPES
        usual = [frame for frame in frames if {*frame.names} <= {"causal_open"}]
        wrong = [
            replace(frame, pattern=pattern, names=(name,), blind=blind)
            for name, pattern in WRONG_PATTERNS.items()
            for blind in ("nan", "uniform", "zero")
            for frame in usual
            if frame.pattern is not None
        ]
        still = [frame for frame in usual if frame.turns is None]
        likely = declared[:1]
        rounds = [
            (frames, declared, 0, 0), (wrong, likely, 0, 0), (usual, likely, 1, 1),
            (still or usual, likely, 2, 2), (still or usual, declared[1:], 1, 1), (wrong, likely, 1, 1),
        ]  # fmt: skip
        for some, known, least, most in rounds[:num_rounds]:
            for frame, reading in itertools.product(some, known):
                acts = frame.seen(*(x.shape[1] for x in call.inputs[:2])) is not None
                for names, recipe in recipes(reading, hidden or ("pattern" if acts else ""), most, least):
                    left -= 1
                    if left < 0:
                        return None
                    output = recipe.output(reading, call.inputs, call.mask, frame)
                    if output is None:
                        continue
                    for number, result in enumerate(results):
                        if same(result, place(output)):
                            return number, _Match((*frame.names, *names), reading, recipe, frame)
        return None

    def findings(self) -> Iterator[Finding]:
        """Yield conduct first, then differences from what the parameters give, then broken laws."""
        try:
            self.choose()
        except CallFailed as stop:
            yield from self._uncalled(stop)
            return
        unsteady = self.subject.difference_of_calls(**self.call(*self.sizes[0]).arguments)
        if unsteady:
            if not self.subject.without_dropout:
                yield unsteady
                return
            yield Finding("dropout_in_eval", unsteady.input, unsteady.expected, unsteady.actual)
        if self.layout == "sequence":
            yield Finding("sequence_first")
        found = [*(self._parity() if self.readings else self._laws())]
        yield from found
        names = {finding.name for finding in found}
        if not names & {"raises", "shape", "dtype", "no_tensor", "not_compared"}:
            if not any(name.startswith("mask") for name in names):
                yield from self._blind()
            yield from self._looked()
            yield from self._dropped()

    def _uncalled(self, stop: CallFailed) -> Iterator[Finding]:
        """A call that fails: the module's own fault if all that it asks for is known."""
        known = self.readings and not self.subject.guessed
        if stop.finding.name != "raises" or known:
            yield stop.finding
            return
        shown = ", ".join(f"{name}={_shown(value)}" for name, value in stop.finding.input.items())
        self.trial.tried.append(f"forward({shown})")
        yield Finding("not_called", stop.finding.input, details=stop.finding.details)

    def _parity(self) -> Iterator[Finding]:
        frames = self.frames()
        asked = {role for role in ("mask", "valid_lens", "key_padding_mask") if role in self.subject.accepts}
        odd: tuple[_Call, Tensor | CallFailed] | None = None
        for role in (*sorted(asked), ""):
            for sizes in self.sizes:
                calls = self._masked(role, sizes) if role else [(None, self.call(*sizes))]
                results = [(form, call, self.output(call.arguments)) for form, call in calls]
                done = [
                    (form, call, r)
                    for form, call, r in results
                    if not isinstance(r, CallFailed) and self._fits(call, r)
                ]
                if not done:
                    odd = odd or (None if role else (results[0][1], results[0][2]))
                    continue
                done = [each for each in done if each[2].isfinite().all()] or done
                if any(is_all_nan(result) for *_, result in done):
                    name = "mask_after" if self._spoils_rows(*done[0][:2]) else "all_nan"
                    yield Finding(name, done[0][1].arguments, None, done[0][2])
                    return
                hit = self._first(done, frames)
                if hit is None:
                    self.form = self.form or done[0][0]
                    odd = odd or (done[0][1], done[0][2])
                    continue
                (form, call, result), match = hit
                self.form = form or self.form
                yield from self._remarks(form, match)
                if match.names:
                    yield from self._shown(sizes, form, call, result, match)
                    return
                self.trial.examined += ["numbers", *(["mask"] if role else [])]
        if asked and "mask" not in self.trial.examined:
            self.trial.skipped.append("mask")
        self.trial.examined.append("causality")
        if odd:
            yield self._mixed() or self._odd(*odd, frames)

    def _spoils_rows(self, form: Form | None, call: _Call) -> bool:
        """Whether a hidden key spoils those rows alone that it is hidden from, as -inf among weights does."""
        if form is None or call.mask is None:
            return False
        mask = torch.ones_like(call.mask)
        mask[-1, :, -1] = False
        result = self.output(call.arguments | form.given(mask, *(self.heads or {1})))
        finite = (
            []
            if isinstance(result, CallFailed)
            else self._rows(result).isfinite().flatten(1).all(-1).tolist()
        )
        return finite[:1] == [True] and finite[-1:] == [False]

    def _fits(self, call: _Call, result: Tensor) -> bool:
        tokens = call.inputs[0][..., :1].expand(-1, -1, self.widths[2])
        return result.shape == LAYOUTS[self.layout](tokens).shape

    def _masked(self, role: str, sizes: tuple[int, int, int]) -> list[tuple[Form | None, _Call]]:
        """Calls with a mask, in each form that runs; once one is found to be right, in that alone."""
        if self.form is not None and self.form.role == role:
            return [(self.form, self.call(*sizes, self.form))]
        calls: list[tuple[Form | None, _Call]] = []
        for ways in forms({role}, self.meant):
            for form in ways:
                call = self.call(*sizes, form)
                result = self.output(call.arguments)
                if not isinstance(result, CallFailed):
                    calls += [(form, call)] if self._fits(call, result) else []
                    break
        return calls

    def _first(
        self, done: list[tuple[Form | None, _Call, Tensor]], frames: list[Frame]
    ) -> tuple[tuple[Form | None, _Call, Tensor], _Match] | None:
        """The form with which the module is right, else with the fewest mistakes."""
        if self.twin is not None:
            right, *_ = self.twin(**done[0][1].arguments)
            if same(done[0][2], right):
                return done[0], _Match((), self.readings[0], Recipe(), frames[0])
        groups: dict[bytes, list[tuple[Form | None, _Call, Tensor]]] = {}
        for each in done:
            mask = each[1].mask
            groups.setdefault(b"" if mask is None else bytes(mask.flatten().tolist()), []).append(each)
        alike = [*groups.values()]
        right = next((n for n, group in enumerate(alike) if self._found(group, frames, 1)), None)
        # What is right for a mask that all sequences share may be wrong for one of each.
        for group in alike[:1] if right is None else alike[:right]:
            if hit := self._found(group, frames, None if right is None else 3):
                return hit
        return None if right is None else self._found(alike[right], frames, 1)

    def _found(
        self, group: list[tuple[Form | None, _Call, Tensor]], frames: list[Frame], rounds: int | None
    ) -> tuple[tuple[Form | None, _Call, Tensor], _Match] | None:
        found = self.search(group[0][1], [result for *_, result in group], frames, rounds)
        return found and (group[found[0]], found[1])

    def _remarks(self, form: Form | None, match: _Match) -> Iterator[Finding]:
        """What is a matter of convention, once each."""
        remarks = {
            "mask_hides": form is not None and (form.role, form.meaning) == ("mask", "hides"),
            "mask_additive": form is not None and form.meaning == "additive",
            "causal_inside": match.frame.pattern is PATTERNS["causal"],
            "residual_inside": bool(match.frame.residual),
        }
        if match.frame.pattern is None and self.meant.causal is None and "mask" not in self.subject.accepts:
            self.trial.question = "causal=True"
        told = {"mask_hides": "mask", "mask_additive": "mask", "causal_inside": "causal"}
        for name, holds in remarks.items():
            asked = getattr(self.meant, told.get(name, "residual"))
            if holds and not asked and name not in self.remarked:
                self.remarked.add(name)
                yield Finding(name)
        if self.meant.residual and not match.frame.residual:
            yield Finding("residual_missing")

    def _shown(
        self, sizes: tuple[int, int, int], form: Form | None, call: _Call, result: Tensor, match: _Match
    ) -> Iterator[Finding]:
        """A finding for each mistake, with the smallest input that shows it."""
        pattern = PATTERNS["causal"] if match.frame.names else match.frame.pattern
        right_frame = replace(match.frame, pattern=pattern, names=(), blind="nan")
        place = LAYOUTS[self.layout]
        small = [(b, n) for b, n in ((1, 2), (1, 3), (2, 2), (2, 3)) if n not in self.heads]
        tries = [self.call(b, n, n, form, digits=1) for b, n in small]
        for each in (*tries, call):
            right, wrong = (
                recipe.output(match.reading, each.inputs, each.mask, frame)
                for recipe, frame in ((Recipe(), right_frame), (match.recipe, match.frame))
            )
            if each is call or right is None or wrong is None:
                break
            actual = CallFailed(Finding("")) if self.trial.late else self.output(each.arguments)
            if not isinstance(actual, CallFailed) and same(actual, place(wrong)) and not same(wrong, right):
                result = actual
                break
        for name in match.names:
            yield Finding(name, each.arguments, None if right is None else place(right), result)

    def _odd(self, call: _Call, result: Tensor | CallFailed, frames: list[Frame]) -> Finding:
        """No known mistake: something else where all parameters are read and tokens have no order."""
        frame, reading = frames[0], self.readings[0]
        hidden = "pattern" if call.mask is None else "mask"
        outputs = [
            (names, LAYOUTS[self.layout](output))
            for names, recipe in recipes(reading, hidden, most=1)
            if (output := recipe.output(reading, call.inputs, call.mask, frame)) is not None
        ]
        expected = outputs[0][1] if outputs else torch.empty(0)
        finding = oddity(Case(call.arguments, expected, lambda: outputs), result)
        ordered = any(each.turns and not each.names for each in frames)
        mixes = self._leaks() or self._feels(lambda x: x[:, 0].add_(1), (slice(None), -1))
        known = self.twin or (is_read(self.module) and mixes and not ordered and call.mask is None)
        if finding.name == "differs" and not known:
            return replace(finding, name="not_compared")
        return finding

    def _mixed(self) -> Finding | None:
        """Whether a sequence gives something else alone; also with as many sequences as heads."""
        if self.layout != "batch":
            return None
        for batch in (2, *self.heads - {1, 2}):
            arguments = self.call(batch, 5, 5, self.form).arguments
            together = self.output(arguments)
            for i in range(batch):
                tensors = {name: x for name, x in arguments.items() if isinstance(x, Tensor)}
                own = {name: x[i : i + 1] for name, x in tensors.items() if len(x) == batch}
                alone = self.output(arguments | own)
                if isinstance(alone, CallFailed) or isinstance(together, CallFailed):
                    break
                if not same(together[i : i + 1], alone):
                    return Finding("batch_mixed", arguments, alone, together[i : i + 1])
        return None

    def _laws(self) -> Iterator[Finding]:
        """What holds for all attention, where the parameters cannot be read: that leaves it undecided."""
        call = self.call(*self.sizes[-1])
        result = self.output(call.arguments)
        if isinstance(result, CallFailed):
            yield result.finding
            return
        mixed = self._mixed()
        self.trial.examined += ["batch", "causality"]
        self.trial.skipped += ["numbers", *(["mask"] if "mask" in self.subject.accepts else [])]
        leaks = self._leaks()
        if mixed:
            yield mixed
        elif leaks and (self.meant.causal or (self.meant.causal is None and self._intends_causality())):
            yield Finding("causal_open", call.arguments)
        else:
            self.trial.question = "causal=True" if leaks and self.meant.causal is None else None
            yield Finding("not_compared")

    def _blind(self) -> Iterator[Finding]:
        """A note: what a query gets that may attend to nothing."""
        if self.form is None or self.layout == "single":
            return
        call = self.call(1, 2, 2, self.form, digits=1)
        mask = torch.zeros(1, 2, 2, dtype=torch.bool)
        mask[:, 1] = not self.form.by_keys
        arguments = call.arguments | self.form.given(mask, *(self.heads or {1}))
        result = self.output(arguments)
        if not isinstance(result, CallFailed):
            self.trial.examined.append("blind")
            if bool(self._rows(result)[:, 0].isnan().all()):
                yield Finding("mask_nan", arguments, None, result)

    def _looked(self) -> Iterator[Finding]:
        """Whether asking for the weights changes the output."""
        if "need_weights" not in self.subject.accepts:
            return
        for sizes, form in itertools.product(((1, 2, 2), (2, 5, 5)), {self.form, None}):
            arguments = self.call(*sizes, form, digits=1).arguments
            plain, looked = (self.output(arguments | {"need_weights": asked}) for asked in (False, True))
            if isinstance(plain, CallFailed) or isinstance(looked, CallFailed):
                continue
            self.trial.examined.append("weights")
            if not same(looked, plain):
                yield Finding("weights_change_output", arguments, plain, looked)
                return

    def _dropped(self) -> Iterator[Finding]:
        """A note: weights that are returned in training and whose rows do not sum to 1."""
        arguments = self.call(*self.sizes[-1]).arguments
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


def _shown(value: object) -> str:
    return str(tuple(value.shape)) if isinstance(value, Tensor) else repr(value)


def _twin(module: nn.Module) -> MultiHeadAttention | None:
    """The library's own module with the options and parameters of one that is derived from it."""
    if not isinstance(module, MultiHeadAttention):
        return None
    twin = copy.copy(module)
    twin.__class__ = MultiHeadAttention
    return twin


def _turn(base: float, pairs: Pairs, sign: int = 1) -> Turn:
    """Rotary positions from 0 on, as matrices, since many recipes turn by the same angles."""

    @cache
    def matrices(length: int, size: int) -> Tensor:
        units = torch.eye(size)[:, None].expand(size, length, size)
        turned = RotaryPositions(size, base, pairs)(units.contiguous()).transpose(0, 1)
        return turned if sign == 1 else turned.mT

    def turn(x: Tensor) -> Tensor:
        if x.shape[-1] % 2:
            raise RuntimeError("pairs need an even size")
        return torch.einsum("bhtd,tde->bhte", x, matrices(*x.shape[-2:]).to(x.dtype))

    return turn
