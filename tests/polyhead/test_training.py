"""The training loop: its batches, its rate, several processes, and runs that are killed."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from torch import nn
from torch.optim.optimizer import register_optimizer_step_pre_hook
from torch.testing import assert_close

from polyhead import Transformer, checkpoint, processes, training
from polyhead.processes import device, join_process_group
from polyhead.training import (
    Progress,
    Recipe,
    _batch,
    _update,
    is_first_process,
    load,
    save,
    train,
)
from tests.polyhead import training_run
from tests.polyhead.training_run import NUM_EXAMPLES, STEPS, alone, loss, make, quiet, recipe, run

# ---- one process


def test_the_rate_rises_and_falls_in_straight_lines():
    got = [Recipe(7, 1, learning_rate=6.0, warmup=2).rate(step) for step in range(8)]
    assert_close(got, [2.0, 4.0, 6.0, 4.8, 3.6, 2.4, 1.2, 0.0])


def test_every_example_comes_once_before_one_comes_again():
    batches = [_batch(recipe(), NUM_EXAMPLES, step) for step in range(44)]  # 3 passes of 101, and 5 more
    assert {tuple(batch.shape) for batch in batches} == {(7,)}
    rows = torch.cat(batches)[: 3 * NUM_EXAMPLES].view(3, NUM_EXAMPLES)
    assert rows.sort(dim=1).values.tolist() == [list(range(NUM_EXAMPLES))] * 3
    assert not torch.equal(rows[0], rows[1])
    assert torch.equal(_batch(recipe(), NUM_EXAMPLES, 17), batches[17])
    assert not torch.equal(_batch(recipe(seed=6), NUM_EXAMPLES, 17), batches[17])
    assert torch.bincount(_batch(recipe(batch_size=7), 3, 0)).tolist() in ([2, 2, 3], [2, 3, 2], [3, 2, 2])


def test_a_step_by_hand():
    """AdamW's first step is the rate along each number's sign, whatever the gradient; a pull at matrices."""
    model = nn.Linear(2, 1)
    with torch.no_grad():
        model.weight.copy_(torch.tensor([[1.0, -2.0]])), model.bias.fill_(0.5)

    def error(model, rows):  # rows 0 and 1 are (3, 0) and (0, 5)
        return model(torch.tensor([[3.0, 0.0], [0.0, 5.0]])[rows]).sum(), 2

    once = Recipe(1, 2, learning_rate=0.25, weight_decay=0.5, clip=100.0)
    assert train(model, error, 2, once, report=quiet) == [(3 - 10 + 2 * 0.5) / 2]
    assert_close(model.weight.detach(), torch.tensor([[1.0 * 0.875 - 0.25, -2.0 * 0.875 - 0.25]]))
    assert_close(model.bias.detach(), torch.tensor([0.25]))


def test_steps_are_those_of_the_papers_algorithm():
    """Loshchilov & Hutter 2019, algorithm 2, with the gradients 3, -1 and 0.5, and 4 as the largest one."""
    model = nn.Linear(1, 1, bias=False).double()
    nn.init.constant_(model.weight, 2.0)
    gradients = iter([3.0, -1.0, 8.0])
    recipe = Recipe(3, 1, learning_rate=0.6, warmup=1, weight_decay=0.1, betas=(0.5, 0.75), clip=4.0)
    train(model, lambda model, rows: (next(gradients) * model.weight.sum(), 1), 1, recipe, report=quiet)
    weight, first, second = 2.0, 0.0, 0.0
    for step, (rate, gradient) in enumerate(((0.3, 3.0), (0.6, -1.0), (0.3, 4.0)), start=1):
        first, second = 0.5 * first + 0.5 * gradient, 0.75 * second + 0.25 * gradient**2
        move = first / (1 - 0.5**step) / (second / (1 - 0.75**step)) ** 0.5
        weight -= rate * (move + 0.1 * weight)
    assert_close(model.weight.item(), weight, rtol=1e-6, atol=0)


def test_what_a_recipe_leaves_out():
    expected = Recipe(3, 2, 0.5, warmup=0, weight_decay=0.0, betas=(0.9, 0.999), clip=1.0, seed=0)
    assert Recipe(3, 2, 0.5) == expected


def test_a_run_of_before_goes_on_with_the_same_examples():
    """The order belongs to the recipe: two of its batches, as they have always been."""
    assert [_batch(Recipe(2, 4, 0.1, seed=3), 5, step).tolist() for step in (0, 1)] == [
        [4, 1, 0, 2],
        [3, 3, 1, 4],
    ]


def test_the_mean_is_over_tokens_and_a_long_gradient_is_shortened():
    """The mean of 12 w over 6 tokens has the gradient 2, and 0.25 when the optimizer sees it."""
    model, seen = nn.Linear(1, 1, bias=False), []
    start = model.weight.item()
    model.weight.register_hook(lambda gradient: seen.append(gradient.item()))
    hook = register_optimizer_step_pre_hook(lambda *_: seen.append(model.weight.grad.item()))
    once = Recipe(1, 3, learning_rate=0.1, clip=0.25)
    losses = train(model, lambda model, rows: (12 * model.weight.sum(), 6), 3, once, report=quiet)
    hook.remove()
    assert_close(losses, [2 * start])
    assert_close(seen, [2.0, 0.25])


def test_it_learns_and_the_seed_decides():
    first, weights = run(dropout=0.3)
    assert sum(first[-5:]) < sum(first[:5])
    torch.manual_seed(99)
    again, same = run(dropout=0.3)
    assert first == again
    assert all(torch.equal(weights[name], same[name]) for name in weights)
    assert run(dropout=0.3, seed=6)[0] != first


@pytest.mark.parametrize("model", [nn.ReLU(), nn.Linear(2, 1).requires_grad_(False)])
def test_a_model_without_parameters_to_train_is_refused(model):
    with pytest.raises(ValueError, match=r"\bmodel must have parameters that require gradients, got a "):
        train(model, loss, NUM_EXAMPLES, recipe())


def test_every_step_has_noise_of_its_own():
    drawn = []

    def draws(model, rows):
        drawn.append(torch.rand(1).item())
        return loss(model, rows)

    for _ in range(2):
        train(make(), draws, NUM_EXAMPLES, recipe(), report=quiet)
    assert len(set(drawn)) == STEPS
    assert drawn[:STEPS] == drawn[STEPS:]


def test_the_callers_random_numbers_stay_and_the_model_is_left_evaluating():
    model, modes = make(dropout=0.3), []
    before = torch.random.get_rng_state()
    train(model, loss, NUM_EXAMPLES, recipe(), report=lambda *_: modes.append(model.training) or model.eval())
    assert torch.equal(torch.random.get_rng_state(), before)
    assert modes == [True] * STEPS
    assert not model.training


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"steps": 0}, "steps must be an int of at least 1, got int 0"),
        ({"warmup": STEPS}, f"warmup must be below steps = {STEPS}, got {STEPS}"),
        ({"warmup": STEPS + 1}, f"warmup must be below steps = {STEPS}, got {STEPS + 1}"),
        ({"learning_rate": float("inf")}, "learning_rate must be a number above 0, and finite"),
        *(
            ({"betas": betas}, "betas must be two numbers of at least 0 and below 1")
            for betas in ((0.9, 1.0), (-0.1, 0.9), (0.9,), (0.9, 0.9, 0.9))
        ),
    ],
)
def test_recipes_that_cannot_be(unchecked, changed, message):
    with pytest.raises(ValueError, match=rf"\b({message})"):
        recipe(**changed)


@pytest.mark.parametrize("wrong", [(torch.tensor(float("nan")), 3), (torch.tensor(1.0), 0)])
def test_a_loss_that_is_no_number_stops_the_run_and_the_state_of_before_stays(tmp_path, wrong):
    calls = []

    def breaks(model, rows):
        calls.append(rows)
        return loss(model, rows) if len(calls) <= 4 else wrong

    with pytest.raises(FloatingPointError, match=r"\bstep 4: loss must be finite, got"):
        train(make(), breaks, NUM_EXAMPLES, recipe(), folder=tmp_path, report=quiet, save_every=0)
    assert len(load(tmp_path / "state.safetensors").weights["losses"]) == 4


def test_progress_says_the_time_left_now_and_then(capsys, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    progress = Progress(steps=600, done=100)
    for step, seconds in ((101, 1), (200, 4.9), (300, 10), (301, 14.9), (600, 14.95)):
        now[0] = 100 + seconds
        progress(step, 0.01234)
    lines = ["step 300/600  loss 0.0123  15 s left", "step 600/600  loss 0.0123  0 s left"]
    assert capsys.readouterr().err.splitlines() == lines


# ---- a run that stops, and goes on


class CallFailed(Exception):
    pass


def stop_at(last):
    def report(step, loss):
        if step == last:
            raise CallFailed

    return report


def stopped(folder, last, **changed):
    with pytest.raises(CallFailed):
        run(folder, stop_at(last), **changed)


def test_it_goes_on_to_the_same_bits_and_a_finished_run_is_read(tmp_path):
    losses, weights = run(dropout=0.3)
    stopped(tmp_path, 11, dropout=0.3)
    stopped(tmp_path, 12, dropout=0.3)
    seen = []
    for expected in ([*range(13, STEPS + 1)], []):
        got, same = run(tmp_path, lambda step, loss: seen.append(step), dropout=0.3)
        assert got == losses
        assert all(torch.equal(weights[name], same[name]) for name in weights)
        assert seen == expected
        seen.clear()


def test_it_is_kept_every_thirty_seconds_and_at_the_end(tmp_path, monkeypatch):
    now, writes = [0.0], []
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(checkpoint, "_write", lambda path, data: writes.append(now[0]))

    def report(step, loss):
        now[0] += 7.5 if step < 10 else 0.25

    train(make(), loss, NUM_EXAMPLES, recipe(steps=11), folder=tmp_path / "a" / "b", report=report)
    assert writes == [30, 60, 67.75]  # after 30 seconds, after 30 more, and where the run ends


def test_what_is_told_of_a_run_that_goes_on(tmp_path, monkeypatch):
    stopped(tmp_path, 26)
    made, told = [], []
    reporter = lambda *args: told.append(args)  # noqa: E731
    monkeypatch.setattr(training, "Progress", lambda *args: made.append(args) or reporter)
    losses = train(make(), loss, NUM_EXAMPLES, recipe(), folder=tmp_path)
    assert made == [(STEPS, 26)]
    assert told == [(step, losses[step - 1]) for step in (27, 28, 29)]


def other_size(folder):
    train(make(embed_dim=6), loss, NUM_EXAMPLES, recipe(), folder=folder)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (lambda folder: run(folder, steps=31), r"run, {'steps': 31}, got {'steps': 29}: take another folder"),
        (lambda folder: run(folder, betas=(0.5, 0.9)), r"same run, {'betas': \[0.5, 0.9\]}, got"),
        (
            lambda folder: train(make(), loss, 7, recipe(), folder=folder),
            r"same run, {'num_examples': 7}, got {'num_ex",
        ),
        (other_size, r"same model, .*\(13, 6\)'"),
        (
            lambda folder: train(make(), loss, NUM_EXAMPLES, recipe(), folder=folder, data={"version": 2}),
            r"same run, {'data': {'version': 2}}, got {'data': None}",
        ),
    ],
    ids=["steps", "betas", "examples", "model", "data"],
)
def test_another_runs_folder_is_refused(tmp_path, other, message):
    stopped(tmp_path, 2)
    before = (tmp_path / "state.safetensors").read_bytes()
    with pytest.raises(ValueError, match=rf"\b({message})"):
        other(tmp_path)
    assert (tmp_path / "state.safetensors").read_bytes() == before


@pytest.mark.parametrize("fails", ["fsync", "replace"])
def test_a_failure_in_writing_leaves_the_last_state(tmp_path, monkeypatch, fails):
    losses, _ = run(steps=8)
    stopped(tmp_path, 5, steps=8)
    before = (tmp_path / "state.safetensors").read_bytes()

    def full(*_):
        raise OSError("no space left")

    with monkeypatch.context() as patch, pytest.raises(OSError, match=r"\bno space left"):
        patch.setattr(os, fails, full)
        run(tmp_path, steps=8)
    assert [path.name for path in tmp_path.iterdir()] == ["state.safetensors"]
    assert (tmp_path / "state.safetensors").read_bytes() == before
    assert run(tmp_path, steps=8)[0] == losses


def test_killed_three_times_once_while_writing(tmp_path):
    """SIGKILL, which nobody can catch; a half-written file beside the good one is what it leaves."""
    losses, weights = run(dropout=0.3)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.polyhead.training_run", "torch._dynamo"])
    state = tmp_path / "state.safetensors"
    done = 0
    for more in (1, 4, 9):
        process = context.Process(target=alone, args=(tmp_path, 0.05))
        process.start()
        deadline = time.monotonic() + 60
        while (steps_of(state) if state.exists() else 0) < done + more:
            assert time.monotonic() < deadline
            assert process.is_alive()
            time.sleep(0.01)
        process.kill()
        process.join()
        assert done < steps_of(state) < STEPS
        done = steps_of(state)
        state.with_name(f"{state.name}.{process.pid}.tmp").write_bytes(state.read_bytes()[:1000])
    got, same = run(tmp_path, dropout=0.3)
    assert got == losses
    assert all(torch.equal(weights[name], same[name]) for name in weights)
    assert list(tmp_path.iterdir()) == [state]


def steps_of(state: Path) -> int:
    return len(load(state).weights["losses"])


# ---- several processes


def test_two_processes_have_the_losses_of_one(tmp_path):
    losses, weights = run()
    stopped(tmp_path, 11)
    torchrun = [
        sys.executable, "-Wignore", "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2",
    ]  # fmt: skip
    subprocess.run(
        [*torchrun, training_run.__file__, str(tmp_path)],
        check=True, capture_output=True, text=True, timeout=300,
        env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(["src", "."])},
    )  # fmt: skip
    first, second = (torch.load(tmp_path / f"{rank}.pt") for rank in (0, 1))
    for step, shares in enumerate(zip(first["rows"], second["rows"], strict=True)):
        assert [len(share) for share in shares] == [4, 3]
        assert sorted([*shares[0], *shares[1]]) == sorted(_batch(recipe(), NUM_EXAMPLES, step).tolist())
    for name in ("fresh", "resumed"):
        assert_close(first[name][0], losses, rtol=1e-5, atol=1e-5)
        assert first[name][0] == second[name][0]
        for parameter, value in first[name][1].items():
            assert torch.equal(value, second[name][1][parameter])
            if parameter.endswith("weight"):  # of keys' biases the gradient is 0, and rounding decides
                assert_close(value, weights[parameter], rtol=1e-3, atol=1e-4)


def test_the_second_of_two_processes_takes_its_share_and_leaves_telling_and_writing_to_the_first(
    tmp_path, monkeypatch
):
    drawn = {}
    for rank in (0, 1):
        monkeypatch.setattr(training, "join_process_group", lambda place, rank=rank: (rank, 2))
        told, rows, noise = [], [], []

        def shares(model, each, rows=rows, noise=noise):
            rows.append(each.tolist())
            noise.append(torch.rand(1).item())
            return loss(model, each)

        folder = tmp_path / f"{rank}"
        report = lambda *args, told=told: told.append(args)  # noqa: E731
        train(make(), shares, NUM_EXAMPLES, recipe(steps=5), folder=folder, report=report)
        assert rows == [_batch(recipe(), NUM_EXAMPLES, step)[rank::2].tolist() for step in range(5)]
        assert len(told) == (5 if rank == 0 else 0)
        assert folder.exists() == (rank == 0)
        drawn[rank] = noise
    assert len({*drawn[0], *drawn[1]}) == 10


def test_the_gradient_is_that_of_all_processes_tokens(monkeypatch):
    """Ours are 6 tokens with 12 w, another process has 4 with a sum of 8; the average is taken afterwards."""
    monkeypatch.setattr(training, "has_process_group", lambda: True)
    monkeypatch.setattr(torch.distributed, "get_world_size", lambda: 2)
    monkeypatch.setattr(torch.distributed, "all_reduce", lambda sums: sums.add_(torch.tensor([8.0, 4.0])))
    model, seen = nn.Linear(1, 1, bias=False), []
    start = model.weight.item()
    model.weight.register_hook(lambda gradient: seen.append(gradient.item()))
    optimizer = torch.optim.AdamW(model.parameters())
    rows = torch.arange(3)
    mean = _update(model, lambda model, rows: (12 * model.weight.sum(), 6), rows, optimizer, recipe(), 0)
    assert_close([mean, *seen], [(12 * start + 8) / 10, 12 * 2 / 10])


def test_the_state_comes_from_the_first_process(tmp_path, monkeypatch):
    stopped(tmp_path, 2)
    content, sent = (tmp_path / "state.safetensors").read_bytes(), []

    def broadcast(contents, src):
        sent.append((list(contents), src))
        contents[0] = content

    monkeypatch.setattr(checkpoint, "has_process_group", lambda: True)
    monkeypatch.setattr(torch.distributed, "broadcast_object_list", broadcast)
    state, facts = load(tmp_path / "state.safetensors")
    model = make()
    optimizer = torch.optim.AdamW(model.parameters())
    losses = checkpoint.RunState(tmp_path / "none", model, optimizer, facts, is_writer=False).resume()
    assert losses == state["losses"].tolist()
    assert sent == [([None], 0)]
    for name, value in model.state_dict().items():
        assert torch.equal(value, state[f"model.{name}"])


def test_a_process_has_the_gpu_of_its_number_and_joins_its_group_once(monkeypatch):
    joined, ends, places = [], [], []
    monkeypatch.setattr(torch.cuda, "set_device", places.append)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert device() == torch.device("cpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    for number, expected in ((None, 0), ("3", 3)):
        if number:
            monkeypatch.setenv("LOCAL_RANK", number)
        assert device() == torch.device("cuda", expected)
    group = torch.distributed
    monkeypatch.setattr(group, "init_process_group", joined.append)
    monkeypatch.setattr(group, "is_initialized", lambda: bool(joined))
    monkeypatch.setattr(group, "get_rank", lambda: 2)
    monkeypatch.setattr(group, "get_world_size", lambda: 5)
    monkeypatch.setattr(processes.atexit, "register", ends.append)
    assert join_process_group(torch.device("cpu")) == (0, 1)
    monkeypatch.setattr(group, "is_torchelastic_launched", lambda: True)
    for place, kind in ((torch.device("cpu"), "gloo"), (torch.device("cuda", 3), "nccl")):
        joined.clear()
        for _ in range(2):
            assert join_process_group(place) == (2, 5)
        assert joined == [kind]
    assert places == [torch.device("cuda", 3)] * 2
    assert ends == [group.destroy_process_group] * 2


def test_the_first_process_is_number_0_or_the_only_one(monkeypatch):
    monkeypatch.delenv("RANK", raising=False)
    assert is_first_process()
    for rank in ("0", "1"):
        monkeypatch.setenv("RANK", rank)
        assert is_first_process() == (rank == "0")


def test_too_small_a_batch_for_the_processes(monkeypatch):
    monkeypatch.setattr(training, "join_process_group", lambda place: (0, 2))
    with pytest.raises(ValueError, match=r"\bbatch_size must be at least 1 a process, 2, got 1"):
        run(batch_size=1)


# ---- checkpoints


def test_what_is_saved_is_loaded_with_its_facts_and_shared_tables_once(tmp_path):
    torch.manual_seed(1)
    model = Transformer(11, embed_dim=6, num_heads=2, num_encoder_layers=1, num_decoder_layers=1)
    facts = {"vocabulary": ["中", "a\n"], "loss": 0.25, "sizes": [3, 5]}
    path = tmp_path / "model.safetensors"
    save(path, model, facts)
    got = load(path)
    assert got.facts == facts
    expected = model.state_dict()
    assert got.weights.keys() == expected.keys()
    assert all(torch.equal(got.weights[name], expected[name]) for name in expected)
    with safe_open(path, "pt") as file:
        assert set(expected) - set(file.keys()) == {"target_embedding.tokens.weight"}
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("content", [b"", b"nonsense of some length", b"\x02\x00\x00\x00\x00\x00\x00\x00{}"])
def test_other_files_are_refused(tmp_path, content):
    path = tmp_path / "other.safetensors"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"\bpath must be a file that `save` wrote, got .*other.safetensors"):
        load(path)
