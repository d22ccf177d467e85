"""Multi-head attention as a module, a class that makes one, or a function of tokens and matrices."""

import contextlib
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import pairwise, product
from typing import Any

import torch
from torch import Tensor, nn

from attention_clinic.adapter import Cache
from attention_clinic.arguments import ROLES, Subject
from attention_clinic.cases import Case, Names, Output, is_all_nan, oddity, same, samples, smallest
from attention_clinic.diagnosis import Finding
from attention_clinic.kinds import heads, modules
from attention_clinic.kinds.attention import Inputs, visible
from attention_clinic.kinds.examination import CAUSAL, FIRST, WRONG_PATTERNS, Examination, Form, forms
from attention_clinic.kinds.heads import Frame, Recipe, Turn, Turns, unchanged
from attention_clinic.kinds.modules import evaluation_copy, norm_size, norms_of
from attention_clinic.kinds.positions import PAIRS, alibi, angles_of, tables_of
from attention_clinic.planted import right_form
from attention_clinic.seeded import randomize
from attention_clinic.trial import CallFailed, Trial, call_text, shown

BY_POSITION = ("query", "key", "value", "mask")
END = slice(-1, None)
TURNS = ("cos", "sin", "freqs", "position_embeddings")
# How many recipes are computed for one output that has no known mistake.
MOST_RECIPES = 3000
# How the module has its tokens, from (batch, num_tokens, size).
LAYOUTS: dict[str, Callable[[Tensor], Tensor]] = {
    "batch": lambda x: x, "single": lambda x: x[0], "sequence": lambda x: x.transpose(0, 1),
    "channels": lambda x: x.mT,
}  # fmt: skip


def diagnose_multi_head(trial: Trial) -> Iterator[Finding]:
    """Findings about a module or what makes one; else about a function."""
    module = trial.candidate if isinstance(trial.candidate, nn.Module) else modules.build_module(trial)
    if module is None:
        yield from heads.diagnose_functions(trial)
        return
    trial.made = f"seeded_copy({trial.made})"
    own = evaluation_copy(module)
    if any(nn.parameter.is_lazy(parameter) for parameter in own.parameters()):
        _Module(trial, own).choose()
        randomize(own)
        trial.made = ""  # such a call comes first
    yield from _Module(trial, own).findings()


@dataclass(frozen=True, eq=False, kw_only=True)
class _Call(Case):
    """One call of the module, with the tensors and the mask for the reference, and the mask's form."""

    tensors: Inputs
    mask: Tensor | None
    form: Form | None


Answer = tuple[_Call, Tensor]
Match = tuple[Names, Recipe]  # what gives the module's output, and the mistakes in it


class _Module(Examination):
    """A module under examination: how it is called, and its parameters as projections.

    No size of its inputs is its number of heads.
    """

    def __init__(self, trial: Trial, module: nn.Module) -> None:
        self.module, self.readings, self.twin = module, [*modules.readings(module)], right_form(module)
        subject = Subject(trial, ROLES["module"], module, ROLES["module"].keys() - {*BY_POSITION})
        mask = "hides" if isinstance(module, nn.MultiheadAttention) else trial.meant.mask
        num_heads = self.readings[0].num_heads if self.readings else 1
        super().__init__(subject, replace(trial.meant, mask=mask), num_heads)
        self.takes_keys, self.sizes = True, list[tuple[int, int, int]]()
        self.given_turns = {*TURNS} & subject.accepts if self.readings else set[str]()
        own = vars(module).get("scaling")  # so models of Hugging Face call it, and T5, ESM or Gemma have none
        self.scaling = "unscaled" if isinstance(own, int | float) and own == 1 else ""
        trial.on_purpose |= {*filter(None, [self.scaling])}
        self.table = 0  # which of the `tables_of` rotary positions it is given
        self.whole = Form("mask", self.meant.mask or "keeps", FIRST)  # of a mask that must be there
        parameter = next((p for p in module.parameters() if p.is_floating_point()), None)
        self.dtype = torch.float32 if parameter is None else parameter.dtype
        norms = (norm_size(norm) for _, norm in norms_of(module))
        width = modules.declared(module, *modules.WIDTHS, "dim", "size") or next(norms, None) or 12
        self.widths: tuple[int, ...] = self.readings[0].widths if self.readings else (width,) * 3
        subject.shape_of = lambda inputs: (*inputs["query"].shape[:-1], self.widths[2])

    # ---- calls

    def call(
        self, batch: int, queries: int, keys: int, form: Form | None = None, digits: int | None = None
    ) -> _Call:
        """A call with such sizes, and with a mask in this form."""
        query_width, key_width, output_width = self.widths
        batch = 1 if self.layout == "single" else batch
        shapes = (batch, queries, query_width), *[(batch, keys, key_width)] * 2
        query, key, value = (x.to(self.dtype) for x in samples(*shapes, digits=digits))
        if not self.takes_keys:
            key = value = query
        elif "value" not in self.subject.accepts:
            value = key
        place, given = LAYOUTS[self.layout], {"query": query}
        if self.takes_keys or "key" in self.required:
            given |= {"key": key, "value": value}
        inputs = {name: place(x) for name, x in given.items() if name in self.subject.accepts}
        inputs |= self._tables(queries)[self.table]
        mask = None
        if form is not None:
            argument, mask = self.masked(visible((batch,), queries, keys), form)
            inputs |= argument
        elif "mask" in self.required:
            whole = self.forms.get("mask", self.whole)
            inputs |= whole.given(torch.ones(batch, queries, keys, dtype=torch.bool), self.num_heads)
        expected = place(torch.full((batch, queries, output_width), torch.nan))
        return _Call(inputs, expected, tensors=(query, key, value), mask=mask, form=form)

    def _tables(self, length: int) -> list[dict[str, Any]]:
        """The tables of so many rotary positions that the module may take."""
        size = self.readings[0].head_dim if self.given_turns else 2
        return tables_of(self.given_turns, angles_of(torch.arange(length), size)) or [{}]

    def choose(self) -> None:
        """Find the sizes and the layout that run, and whether keys may differ from queries.

        Raises:
            CallFailed: none does.
        """
        queries, keys = (next(n for n in two if n != self.num_heads) for two in ((3, 4), (5, 7)))
        batch = 2 if self.num_heads != 2 else 4
        square = (batch, keys, keys)
        tries = [(True, (batch, queries, keys)), (True, square), (False, square)]
        has_keys = "key" in self.required or {"key", "value"} <= self.subject.accepts
        failures: list[CallFailed] = []
        wholes = [self.whole]
        if "mask" in self.required:
            wholes += forms("mask", self.meant)
        tables = range(len(self._tables(1)))
        has_channels = any(isinstance(part, nn.Conv1d) for part in self.module.modules())
        layouts = ("channels", "batch", "single") if has_channels else ("batch", "single")
        for self.layout, self.table, self.whole in product(layouts, tables, wholes):
            for self.takes_keys, sizes in tries if has_keys else tries[2:]:
                result = self.output(self.call(*sizes).inputs)
                if isinstance(result, CallFailed):
                    failures.append(result)
                    continue
                self.sizes.append(sizes)
                if sizes == square:
                    break
            if self.sizes:
                break
        else:
            raise failures[0]
        result = self.output(self.call(*self.sizes[0]).inputs)
        if not isinstance(result, CallFailed) and result.shape[-1] == self.widths[0] != self.widths[2]:
            # Tokens of as many features come out: keep the readings for that.
            self.readings = [each for each in self.readings if each.widths[2] == each.widths[0]]
            self.widths = (self.widths[0],) * 3
        is_wrapper = any(isinstance(part, nn.MultiheadAttention) for part in [*self.module.modules()][1:])
        if self.layout == "batch" and not is_wrapper and self._mixes_rows():
            self.layout = "sequence"

    def _feels(self, change: Callable[[Tensor], object], at: tuple[slice | int, ...]) -> bool:
        """Whether the output there is another when the tokens (batch, num_tokens, size) are changed."""
        inputs = self.call(*self.sizes[-1]).inputs
        changed = {name: self._rows(x).clone() for name, x in inputs.items() if name in BY_POSITION[:3]}
        for x in changed.values():
            change(x)
        plain = self.output(inputs)
        result = self.output({**inputs, **{name: LAYOUTS[self.layout](x) for name, x in changed.items()}})
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

    # ---- what may stand around attention

    def frames(self) -> list[Frame]:
        """All that may stand around it, as far as the module behaves so."""
        turns = self._turns(self._depends_on_order())
        opened: Names = ("causal_open",) if self.causal else ()
        patterns = [(None, opened), (CAUSAL, ())] if self._leaks() else [(CAUSAL, ()), (None, opened)]
        ways = product(self._surroundings(), patterns, turns)
        found = [
            replace(frame, turns=turn, mended=right, pattern=pattern, names=lacks + names)
            for frame, (pattern, lacks), (turn, right, names) in ways
        ]
        return sorted(found, key=lambda frame: len(frame.names))

    def _surroundings(self) -> list[Frame]:
        """Norms and a residual: those with which a module whose projections are zero gives what it gives."""
        norms = [norm for _, norm in norms_of(self.module) if norm_size(norm) == self.widths[0]]
        around: list[tuple[Turn, Turn, Turn]] = [Frame.before, *((norm, norm, norm) for norm in norms)]
        around += [(one, two, two) for one, two in pairwise(norms[:2])]
        last: list[Turn] = [unchanged, *norms]
        ways = product(around, last, ("", "raw", "normed"))
        every = [
            Frame(before, residual, after)
            for before, after, residual in ways
            if residual != "normed" or before is not Frame.before
        ]
        call, place = self.call(*self.sizes[-1]), LAYOUTS[self.layout]
        nothing = torch.zeros_like(call.tensors[0])
        of_norms = {id(p) for _, norm in norms_of(self.module) for p in norm.parameters()}
        others = [p for p in self.module.parameters() if id(p) not in of_norms]
        values = [p.data for p in others]
        try:
            for parameter in others:
                parameter.data = torch.zeros_like(parameter.data)
            silent = self.output(call.inputs)
        finally:
            for parameter, value in zip(others, values, strict=True):
                parameter.data = value
        fitting = [each for each in every if same(silent, place(each.leave(nothing, call.tensors)))]
        return fitting or every[:1]

    def _turns(self, depends: bool) -> list[tuple[Turns, Turns, Names]]:
        """Rotary positions that there may be, those that should be, and what they lack."""
        own = (getattr(self.module, name, None) for name in ("rope_theta", "rope_base", "theta", "base"))
        declared = [float(base) for base in own if isinstance(base, int | float)]
        bases = [1e4] if self.given_turns else declared[:1] or [1e4, 5e5, 1e6]
        turns: list[tuple[Turns, Turns, Names]] = []
        if not (self.given_turns and depends):
            meant = _rotary(_turn(bases[0], self.meant.rope)) if self.meant.rope else heads.STILL
            turns.append((heads.STILL, meant, ("rotary_unturned",) if self.meant.rope else ()))
        for base, pairs in product(bases, PAIRS):
            turn, back = _turn(base, pairs), _turn(base, pairs, -1)
            right = _rotary(_turn(base, self.meant.rope or pairs))
            lacks = () if self.meant.rope in (None, pairs) else ("rotary_layout",)
            turns += [(_rotary(turn), right, lacks)] if depends else []
            if base == bases[0]:  # turned queries alone do not show in the order of keys
                turns.append(((turn, unchanged, heads.unbiased), right, ("rotary_queries_only",)))
                turns += [(_rotary(back), right, ("rotary_sign",))] if depends else []
        slopes = alibi(self.num_heads)
        known: list[tuple[Names, Tensor]] = [((), slopes.expected), *slopes.mistakes()]
        right = _alibi(slopes.expected)
        return turns + [(_alibi(each), right, names) for names, each in known if depends]

    # ---- comparison

    def search(
        self, answers: list[Answer], frames: list[Frame], num_rounds: int | None = None
    ) -> tuple[_Call, Tensor, Match] | None:
        """Which of the answers, to calls that differ in the form of a mask alone, has which mistakes."""
        known = self._known_outputs(answers[0][0], frames, num_rounds)
        ends = torch.stack([result.flatten()[-1] for _, result in answers])
        for output, match in itertools.islice(known, MOST_RECIPES):
            self.trial.go_on()
            self.trial.num_recipes += 1
            slack = 1e-3 * (1 + output.abs().max())
            apart = (ends - output.flatten()[-1]).abs() > slack  # the last number is last in each layout
            for (call, result), is_other in zip(answers, apart.tolist(), strict=True):
                if not is_other and same(result, LAYOUTS[self.layout](output)):
                    return call, result, match
            if self.trial.exhausted:
                break
        return None

    def _known_outputs(
        self, call: _Call, frames: list[Frame], num_rounds: int | None
    ) -> Iterator[tuple[Tensor, Match]]:
        """What the module may give, the fewest mistakes first; the likeliest reading may have two."""
        declared = [reading for reading in self.readings if reading.is_declared]
        usual = [frame for frame in frames if {*frame.names} <= {"causal_open", "alibi_powers"}]
        hiding = [each for each in usual if each.pattern and each.turns[2] is heads.unbiased]
        ways = product(WRONG_PATTERNS.items(), ("nan", "uniform", "zero"), hiding)
        wrong = [replace(frame, pattern=own, names=(name,), blind=row) for (name, own), row, frame in ways]
        # Positions that are biases, and mistaken ones.
        off = [each for each in frames if each.turns[2] is not heads.unbiased and each not in usual]
        others = [each for each in frames if each not in off]
        still = [frame for frame in usual if frame.turns is heads.STILL]
        likely = declared[:1]
        rounds = [
            (others, declared, 0), (wrong + off, likely, 0), (usual, likely, 1), (still or usual, likely, 2),
            (still or usual, declared[1:], 1), (wrong, likely, 1),
        ]  # fmt: skip
        for around, read, count in rounds[:num_rounds]:
            for frame, reading in product(around, read):
                known = heads.outputs(reading, call.tensors, call.mask, frame, count, count)
                yield from ((output, ((*frame.names, *names), recipe)) for names, recipe, output in known)

    def findings(self) -> Iterator[Finding]:
        """Yield conduct first, then differences from what the parameters give, then broken laws."""
        try:
            self.choose()
        except CallFailed as stop:
            finding = stop.finding
            has_own_mask = "mask" in self.required and isinstance(stop.error, AttributeError)  # an object
            if finding.name == "raises" and (has_own_mask or self.subject.guessed or not self.readings):
                self.trial.tried.append(call_text("forward", finding.input))
                finding = replace(finding, name="not_called")
            yield finding
            return
        unsteady = self.subject.difference_of_calls(**self.call(*self.sizes[0]).inputs)
        if unsteady:
            if not self.subject.without_dropout:
                yield unsteady
                return
            yield Finding("dropout_in_eval", unsteady.input, unsteady.expected, unsteady.actual)
        if self.layout == "sequence":
            yield Finding("sequence_first")
        # What is a matter of convention shows with each mask and without.
        found = {finding.name: finding for finding in (self._parity() if self.readings else self._laws())}
        yield from found.values()
        if found.keys().isdisjoint({"raises", "shape", "dtype", "no_tensor", "not_compared"}):
            if not any(name.startswith("mask") for name in found):
                yield from self._blind()
            yield from self._looked()
            yield from self._dropped()
            yield from self._cached() if "cache" in self.subject.accepts else ()

    def _parity(self) -> Iterator[Finding]:
        """Differences from what the parameters give, with each mask and without."""
        frames = self.frames()
        odd: tuple[_Call, Output] | None = None
        for role, sizes in product((*self.mask_roles, ""), self.sizes):
            answers = [(call, result) for _, call, result in self.answers(role, partial(self.call, *sizes))]
            if role and not answers and (failure := self._of_several(role, sizes)):
                yield failure
                return
            if not answers:
                call = self.call(*sizes)
                odd = odd if role or odd else (call, self.output(call.inputs))
                continue
            answers = [each for each in answers if each[1].isfinite().all()] or answers
            call, result = answers[0]
            if any(is_all_nan(each) for _, each in answers):
                name = "mask_after" if self._spoils_rows(call) else "all_nan"
                yield Finding(name, call.inputs, None, result)
                return
            call, result, match = self._first(answers, frames) or (call, result, None)
            if call.form is not None:
                self.forms.setdefault(role, call.form)
            if match is None:
                odd = odd or (call, result)
                continue
            names, recipe = match
            yield from self._remarks(call.form, names, recipe.frame)
            if names := tuple(name for name in names if name not in self.trial.on_purpose):
                yield from self._evidence(call, result, names, recipe)
                return
            self.trial.examined += ["numbers", *(["mask"] if role else [])]
        if self.mask_roles and "mask" not in self.trial.examined:
            self.trial.skipped.append("mask")
        self.trial.examined.append("causality")
        if odd:
            yield self._mixed() or self._odd(*odd, frames)

    def _of_several(self, role: str, sizes: tuple[int, int, int]) -> Finding | None:
        """Why a mask stops a batch, where it stops no single sequence."""
        alone = self.answers(role, partial(self.call, 1, *sizes[1:]))
        result = next((self.output(self.call(*sizes, form).inputs) for form, _, _ in alone), None)
        return result.finding if isinstance(result, CallFailed) else None

    def _spoils_rows(self, call: _Call) -> bool:
        """Whether a hidden key spoils those rows alone that it is hidden from, as -inf among weights does."""
        if call.form is None or call.mask is None:
            return False
        mask = torch.ones_like(call.mask)
        mask[-1, :, -1] = False
        result = self.output({**call.inputs, **call.form.given(mask, self.num_heads)})
        if isinstance(result, CallFailed):
            return False
        is_finite = self._rows(result).isfinite().flatten(1).all(-1)
        return bool(is_finite[0]) and not bool(is_finite[-1])

    def _first(self, answers: list[Answer], frames: list[Frame]) -> tuple[_Call, Tensor, Match] | None:
        """The form with which the module is right, else with the fewest mistakes."""
        if self.twin is not None:
            right, *_ = self.twin(**answers[0][0].inputs)
            if same(answers[0][1], right):
                return *answers[0], ((), Recipe(self.readings[0], frames[0], heads.RIGHT))
        groups: dict[object, list[Answer]] = {}  # of forms with which the same mask acts
        for call, result in answers:
            acts_alike = call.form and (call.form.by_keys, call.form.is_each)
            groups.setdefault(acts_alike, []).append((call, result))
        alike = [*groups.values()]
        for number, group in enumerate(alike):
            if hit := self.search(group, frames, 1):
                # What is right for a mask that all sequences share may be wrong for one of each.
                earlier = (self.search(each, frames, 3) for each in alike[:number])
                return next(filter(None, earlier), hit)
        return self.search(alike[0], frames)

    def _remarks(self, form: Form | None, names: Names, frame: Frame) -> Iterator[Finding]:
        """What is a matter of convention."""
        yield from self.remarks_on_mask(form)
        yield from (Finding(name) for name in names if name in self.trial.on_purpose)
        if frame.pattern is CAUSAL and not self.meant.causal:
            yield Finding("causal_inside")
        if frame.pattern is None and self.meant.causal is None and "mask" not in self.subject.accepts:
            self.trial.question = "causal=True"
        if bool(frame.residual) != bool(self.meant.residual):
            yield Finding("residual_inside" if frame.residual else "residual_missing")

    def _evidence(self, call: _Call, result: Tensor, names: Names, recipe: Recipe) -> Iterator[Finding]:
        """A finding for each mistake, with the smallest input that shows it."""
        frame, place = recipe.frame, LAYOUTS[self.layout]
        is_of_pattern = not {"causal_open", *WRONG_PATTERNS}.isdisjoint(frame.names)
        pattern = CAUSAL if is_of_pattern else frame.pattern
        mended = replace(frame, turns=frame.mended, pattern=pattern, blind="nan")
        split, _, *others = heads.RIGHT
        right = Recipe(recipe.reading, mended, [split, self.scaling, *others])

        def case(each: _Call) -> Iterator[Case]:
            with contextlib.suppress(RuntimeError):
                expected, wrong = (way.output(each.tensors, each.mask) for way in (right, recipe))
                yield Case(each.inputs, place(expected), lambda: [(names, place(wrong))])

        sizes = [(b, n) for b, n in ((1, 2), (1, 3), (2, 2), (2, 3)) if n != self.num_heads]
        small = itertools.chain.from_iterable(case(self.call(b, n, n, call.form, digits=1)) for b, n in sizes)
        shown, output = smallest(self.subject, next(case(call), call), result, small)
        yield from (shown.finding(name, output) for name in names)

    def _odd(self, call: _Call, result: Output, frames: list[Frame]) -> Finding:
        """No known mistake: something else where all parameters are read and tokens have no order."""
        found = heads.outputs(self.readings[0], call.tensors, call.mask, frames[0], most=1)
        known = [(names, LAYOUTS[self.layout](output)) for names, _, output in found]
        expected = known[0][1] if known else torch.empty(0)
        finding = oddity(Case(call.inputs, expected, lambda: known), result)
        ordered = any(each.turns is not heads.STILL and not each.names for each in frames)
        mixes = self._leaks() or self._feels(lambda x: x[:, 0].add_(1), (slice(None), -1))
        is_known = self.twin or (modules.is_read(self.module) and mixes and not ordered and call.mask is None)
        if finding.name == "differs" and (not is_known or self.trial.exhausted):
            return replace(finding, name="not_compared")
        return finding

    def _mixed(self) -> Finding | None:
        """Whether a sequence gives something else alone; also with as many sequences as heads."""
        batches = dict.fromkeys((2, max(2, self.num_heads)))
        found = (self.mixed(self.call(batch, 5, 5, self.form)) for batch in batches)
        return next(filter(None, found), None)

    def _laws(self) -> Iterator[Finding]:
        """What holds for all attention, where the parameters cannot be read: that leaves it undecided."""
        self.trial.examined += ["batch", "causality"]
        self.trial.skipped += ["numbers", *(["mask"] if "mask" in self.subject.accepts else [])]
        leaks = self._leaks()
        if mixed := self._mixed():
            yield mixed
        elif leaks and self.causal:
            yield Finding("causal_open", self.call(*self.sizes[-1]).inputs)
        else:
            self.trial.question = "causal=True" if leaks and self.meant.causal is None else None
            yield Finding("not_compared")

    def _blind(self) -> Iterator[Finding]:
        """A note: what a query gets that may attend to nothing."""
        if self.form is None or self.layout == "single":
            return
        mask = torch.zeros(1, 2, 2, dtype=torch.bool)
        mask[:, 1] = not self.form.by_keys
        argument = self.form.given(mask, self.num_heads)
        inputs = {**self.call(1, 2, 2, self.form, digits=1).inputs, **argument}
        result = self.output(inputs)
        if not isinstance(result, CallFailed):
            self.trial.examined.append("blind")
            if bool(self._rows(result)[:, 0].isnan().all()):
                yield Finding("mask_nan", inputs, None, result)

    def _looked(self) -> Iterator[Finding]:
        """Whether asking for the weights changes the output."""
        if "need_weights" not in self.subject.accepts:
            return
        for sizes, form in product(((1, 2, 2), (2, 5, 5)), sorted({self.form, None}, key=str)):
            inputs = self.call(*sizes, form, digits=1).inputs
            plain, looked = (self.output({**inputs, "need_weights": asked}) for asked in (False, True))
            if isinstance(plain, CallFailed) or isinstance(looked, CallFailed):
                continue
            self.trial.examined.append("weights")
            if not same(looked, plain):
                yield Finding("weights_change_output", {**inputs}, plain, looked)
                return

    def _dropped(self) -> Iterator[Finding]:
        """A note: weights that are returned in training, come second, and have rows that do not sum to 1."""
        inputs, num_keys = {**self.call(*self.sizes[-1]).inputs}, self.sizes[-1][-1]
        inputs |= {"need_weights": True} if "need_weights" in self.subject.accepts else {}
        sums: list[Any] = []
        for in_training in (False, True):
            self.module.train(in_training)
            with contextlib.suppress(CallFailed):
                output = self.trial.call(self.subject.call, **inputs)
                weights = output[1] if isinstance(output, tuple) and len(output) > 1 else None
                if isinstance(weights, Tensor) and weights.shape[-2:] == (num_keys, num_keys):
                    sums.append(weights.detach().sum(dim=-1))
        self.module.eval()
        if len(sums) == 2 and not torch.allclose(sums[0], sums[1], atol=1e-4):
            yield Finding("weights_after_dropout", inputs, *sums)

    def _cached(self) -> Iterator[Finding]:
        """What the last token sees with a cache of those before it, where a call returns one."""
        length = next(n for n in (3, 4) if n != self.num_heads)
        whole: dict[str, Any] = {**self.call(1, length, length, digits=1).inputs}
        tokens = {name: self._rows(x) for name, x in whole.items() if name in BY_POSITION[:3]}

        def given(rows: slice, queries: int, keys: int) -> dict[str, Any]:
            some = {name: LAYOUTS[self.layout](x[:, rows]) for name, x in tokens.items()}
            return {**self.call(1, queries, keys).inputs, **some}

        cache, last = Cache(self.module), given(END, 1, length)
        first = given(slice(-1), length - 1, length - 1)
        first |= {"use_cache": True} if "use_cache" in self.subject.accepts else {}
        with contextlib.suppress(CallFailed):
            cache.advance(self.trial.call(self.subject.call, **first), length - 1)
        ways = {"": whole, "cache_hidden": last, "cached": {**last, "cache": cache.value}}
        if "value" in tokens:  # keys in the order in which the new one comes first
            ways["cache_order"] = {**whole, "key": LAYOUTS[self.layout](tokens["key"].roll(1, dims=1))}
        outputs = {name: self.output(inputs) for name, inputs in ways.items()}
        ends = {name: self._rows(x)[:, END] for name, x in outputs.items() if isinstance(x, Tensor)}
        cached = ends.pop("cached", None) if cache.value is not None else None
        name = next((name for name, end in ends.items() if same(cached, end)), None)
        (self.trial.skipped if name is None else self.trial.examined).append("cache")
        if name:
            yield Finding(name, shown(last), ends.get(""), cached)


def _rotary(turn: Turn) -> Turns:
    """The same for queries and keys."""
    return turn, turn, heads.unbiased


def _alibi(slopes: Tensor) -> Turns:
    """The farther a key is, the lower its score, by the slope of the head."""
    falling = -slopes[:, None, None]
    return unchanged, unchanged, lambda n, m: falling * (torch.arange(n)[:, None] - torch.arange(m)).abs()


def _turn(base: float, pairs: str, sign: int = 1) -> Turn:
    """Rotary positions from 0 on, as matrices, since many recipes turn by the same angles."""

    @cache
    def matrices(length: int, size: int) -> Tensor:
        angles = sign * angles_of(torch.arange(length), size, base)
        return PAIRS[pairs](torch.eye(size)[:, None].expand(-1, length, -1), angles).transpose(0, 1)

    def turn(x: Tensor) -> Tensor:
        if x.shape[-1] % 2:
            raise RuntimeError("pairs need an even size")
        return torch.einsum("bhtd,tde->bhte", x, matrices(*x.shape[-2:]).to(x.dtype))

    return turn
