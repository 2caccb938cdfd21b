"""The local engine: bitwise the same after an interruption, the staleness bound, bad input."""

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
import yaml

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from labelled import Tables, soak, unlike
from tiny_training import (
    ROWS,
    config,
    curve,
    digits,
    events,
    killed_after,
    rollouts,
    run_of,
    weights,
)

from benchmarks.train_kill import killed
from infinite_rl.errors import RunDied, Stopped, StoreError, UnknownName, UsageError
from infinite_rl.training import TrainingConfig, train
from infinite_rl.training.core import rollouts as core_rollouts
from infinite_rl.training.core.optimizer import Diverged
from infinite_rl.training.core.rollout_types import truncation_penalty
from infinite_rl.training.core.sampling import Sampled
from infinite_rl.training.runs import checkpoint
from infinite_rl.training.runs.checkpoint import FINAL, ready
from infinite_rl.training.runs.resuming import MAY_CHANGE, check_unchanged, resume_checkpoint
from infinite_rl.training.runs.run_folder import RunFolder, read_config
from infinite_rl.training.runs.run_log import EARLY_WARNING_STEPS, ZeroAdvantageMonitor

tables = Tables(__file__)
Whole = Callable[..., tuple[TrainingConfig, Path]]


@pytest.fixture(scope="module")
def whole(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Whole:
    """Runs of four steps by their values, each trained once: the config, the last checkpoint."""

    @cache
    def run(**values: Any) -> tuple[TrainingConfig, Path]:
        out = tmp_path_factory.mktemp("whole")
        settings = config(model, out, max_steps=4, save_every=1, **values)
        return settings, train(ROWS, digits, settings)

    return run


@pytest.mark.slow
@pytest.mark.parametrize(
    "values",
    [
        {"algorithm": "sft"},
        {"temperature": 0.7},
        {"temperature": 0.7, "max_staleness": 1},
        {"max_staleness": 3},
        {"kl_coef": 0.1, "sft_weight": 0.5, "loss": "dapo"},
    ],
    ids=["sft", "grpo", "staleness 1", "staleness 3", "kl and sft"],
)
def test_a_resumed_run_has_equal_bits(whole: Whole, tmp_path: Path, values: dict[str, Any]) -> None:
    settings, expected = whole(**values)
    names = [path.name for path in checkpoint.ready(run_of(expected))]
    assert names == ["step_2", "step_3", "step_4"], "save_total_limit is 3"
    run = killed_after(expected, 2, tmp_path / "run")
    last = train(ROWS, digits, settings, resume=run)
    assert last == run / "checkpoints" / "step_4"
    steps = curve(last)
    assert steps == curve(expected) and len(steps) == 4
    one, other = weights(last), weights(expected)
    assert one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)
    assert rollouts(last) == rollouts(expected)
    assert len(rollouts(last)) == (0 if "algorithm" in values else 4 * 16)
    if "kl_coef" in values:  # from the model that training began with
        assert steps[0]["kl"] == pytest.approx(0, abs=1e-6) and steps[-1]["kl"] > 1e-6
    most = values.get("max_staleness", 0)
    if most == 1:  # an earlier version named the prefetched rollouts of a checkpoint otherwise
        run = killed_after(expected, 2, tmp_path / "earlier")
        former = {"sampling": "asked", "indices": "places", "rollouts": "answers"}

        def renamed(state: Any) -> None:
            state["algorithm"]["rollouts"] = [
                {former.get(name, name): value for name, value in entry.items()}
                for entry in state["algorithm"]["rollouts"]
            ]
            assert "answers" in state["algorithm"]["rollouts"][0]

        rewrite(run / "checkpoints" / "step_2", renamed)
        assert curve(train(ROWS, digits, settings, resume=run)) == curve(expected)


@pytest.mark.slow
def test_no_rollout_is_older_than_the_bound(whole: Whole) -> None:
    for values in ({"temperature": 0.7}, {"temperature": 0.7, "max_staleness": 1},
                   {"max_staleness": 3}):  # fmt: skip
        _, last = whole(**values)
        steps, most = curve(last), int(values.get("max_staleness", 0))
        assert [step["staleness"] for step in steps] == [min(number, most) for number in range(4)]
        versions = {(step - 1, version) for step, version in rollouts(last, "step", "version")}
        assert versions == {(step, max(0, step - most)) for step in range(4)}
        if most:  # the old log-probabilities are the sampler's
            assert max(step["old_kl"] for step in steps) > 1e-5
        else:
            assert [step["ratio"] for step in steps] == pytest.approx([1] * 4, abs=1e-4)
            assert max(step["old_kl"] for step in steps) < 1e-6


def rewrite(path: Path, change: Callable[[Any], None]) -> None:
    """Change a checkpoint's state, and its size in the marker."""
    state = torch.load(path / checkpoint.STATE)
    change(state)
    torch.save(state, path / checkpoint.STATE)
    marker = path / checkpoint.READY
    sizes = json.loads(marker.read_text())
    sizes["files"][checkpoint.STATE] = (path / checkpoint.STATE).stat().st_size
    marker.write_text(json.dumps(sizes))


@pytest.mark.slow
def test_rollouts_of_other_prompts_or_settings_are_dropped(whole: Whole, tmp_path: Path) -> None:
    before, expected = whole(max_staleness=3)
    cases: list[tuple[list[dict[str, Any]], dict[str, Any], int]] = [
        (ROWS[::-1], {}, 2),
        (ROWS, {"group_size": 2}, 2),
        (ROWS, {"temperature": 0.3}, 2),
        (ROWS, {"max_staleness": 1}, 1),  # a smaller bound: the next ones, of version 0, later
    ]
    for number, (rows, changes, too_old) in enumerate(cases):
        run = killed_after(expected, 2, tmp_path / str(number))
        settings = TrainingConfig.of({**before.values(), **changes})
        edited = yaml.safe_dump(settings.values())  # by hand: else it would be refused
        (run / "config.yaml").write_text(edited)
        third, fourth = curve(train(rows, digits, settings, resume=run))[2:]
        assert (third["too_old"], fourth["too_old"], third["staleness"]) == (too_old, 2, 0)
        assert third["ratio"] == pytest.approx(1, abs=1e-4) and third["old_kl"] < 1e-6


@pytest.mark.slow
def test_the_loss_of_sft_falls_and_the_reward_of_grpo_rises(model: Path, tmp_path: Path) -> None:
    sft = {"algorithm": "sft", "max_steps": 10, "batch_size": 20, "learning_rate": 1e-2}
    losses = [each["loss"] for each in curve(train(ROWS, None, config(model, tmp_path, **sft)))]
    assert losses[-1] < 0.5 * losses[0]
    grpo = {"max_steps": 15, "batch_size": 8, "group_size": 8, "learning_rate": 1e-2}
    events = curve(train(ROWS, digits, config(model, tmp_path, **grpo)))
    rewards = [event["reward"] for event in events]
    assert sum(rewards[-5:]) / 5 > sum(rewards[:5]) / 5 + 0.2


def one_group_differs(
    rows: Sequence[Mapping[str, Any]], texts: Sequence[str]
) -> list[float | None]:
    """Of four groups of four the second differs, and one of its completions has no verdict."""
    return [*[0.0] * 4, None, 0.0, 1.0, 1.0, *[0.0] * 8]


def test_means_are_over_what_is_learnt_from_or_as_in_trl_over_all_groups(
    model: Path, tmp_path: Path
) -> None:
    def event(**values: Any) -> dict[str, Any]:
        settings = config(model, tmp_path, max_steps=1, **values)
        (found,) = curve(train(ROWS, one_group_differs, settings))
        return found

    kept, counted = event(), event(count_equal_groups=True)  # 3 of the 15 with a verdict
    assert counted["grad_norm"] == pytest.approx(kept["grad_norm"] * 3 / 15, rel=1e-4)
    assert counted["dropped_groups"] == kept["dropped_groups"] == 3
    assert counted["tokens"] == kept["tokens"], "what has no gradient is not computed"
    near = event(count_equal_groups=True, kl_coef=0.1)
    assert near["tokens"] > kept["tokens"], "all have a part in the divergence"


def test_groups_of_equal_rewards_are_dropped_and_counted(
    model: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Completions without a verdict do not count in their group."""
    last = train(ROWS, one_group_differs, config(model, tmp_path, max_steps=1))
    (event,) = curve(last)
    assert event["dropped_groups"] == 3 and event["completions"] == 16
    assert event["unscored"] == 1 and event["reward"] == pytest.approx(2 / 15)
    rewards, advantages = zip(*rollouts(last, "reward", "advantage"), strict=True)
    assert rewards[4:8] == (None, 0.0, 1.0, 1.0)
    by_hand = [0, -2 / 2**0.5, 1 / 2**0.5, 1 / 2**0.5]  # mean 2/3, std sqrt(2)/3
    assert list(advantages) == pytest.approx([*[0] * 4, *by_hand, *[0] * 8], abs=1e-6)
    settings = config(model, tmp_path, max_steps=1)
    last = train(ROWS, lambda rows, texts: [1.0] * len(texts), settings)
    (event,) = curve(last)
    assert event["dropped_groups"] == 4 and "loss" not in event and event["reward"] == 1
    assert "all 4 groups of the run had equal rewards" in caplog.text
    before = weights(model)
    assert all(torch.equal(before[name], each) for name, each in weights(last).items())


def test_a_run_that_learns_nothing_warns(caplog: pytest.LogCaptureFixture) -> None:
    for steps, warnings, message in (
        ([{"dropped_groups": 4}] * (EARLY_WARNING_STEPS - 1), 1, "all 36 groups of the run"),
        ([{"dropped_groups": 4}] * EARLY_WARNING_STEPS * 2, 2, "40 groups in a row had equal"),
        ([{"dropped_groups": 4 - (step % 10 == 0)} for step in range(30)], 0, ""),
        ([{"loss": 0.5}] * 20, 0, ""),
        ([{"frac_reward_zero_std": share} for share in [0.75, *[1.0] * 10]], 1, "40 groups"),
    ):
        caplog.clear()
        monitor = ZeroAdvantageMonitor(TrainingConfig("m", batch_size=4))
        for values in steps:
            monitor.step(values)
        monitor.end()
        assert len(caplog.messages) == warnings, steps
        assert not warnings or caplog.messages[0].startswith(message)


def test_a_right_answer_that_was_truncated_gets_no_reward(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reasons = ("stop", "length") * 2
    group = [Sampled([65], [-1.0], "<answer>5</answer>", reason) for reason in reasons]
    monkeypatch.setattr(core_rollouts, "sample", lambda m, t, prompts, **_: [group] * len(prompts))
    rows = [{"type": "math", "prompt": "2+3=", "answer": "5"}]
    for allowed, rewards in ((False, [1, 0, 1, 0]), (True, [1, 1, 1, 1])):
        values = {"max_steps": 1, "batch_size": 1, "reward_truncated": allowed}
        last = train(rows, None, config(model, tmp_path, **values))
        assert [reward for (reward,) in rollouts(last, "reward")] == rewards
        assert curve(last)[0]["truncated"] == 0.5
    for reward, penalized in ((1.0, 0), (0.0, 0), (-2.0, -2), (None, None)):
        assert truncation_penalty(TrainingConfig("m"), reward, True) == penalized
        assert truncation_penalty(TrainingConfig("m"), reward, False) == reward


@pytest.mark.slow
@pytest.mark.parametrize("values", [{"algorithm": "sft"}, {}, {"loss": "dapo"}])
def test_splits_do_not_change_learning(model: Path, tmp_path: Path, values: dict[str, Any]) -> None:
    """Neither by tokens, 160 in parts of 24, nor by `prompts_per_pass`."""
    splits = [{"tokens_per_batch": 9999}, {"tokens_per_batch": 24}]
    splits += [{"prompts_per_pass": 1}, {"prompts_per_pass": 2}] if not values else []
    runs = [
        train(ROWS, digits, config(model, tmp_path, **{**values, "max_steps": 1, **split}))
        for split in splits
    ]
    one, first = weights(runs[0]), curve(runs[0])[0]
    for run in runs[1:]:
        assert rollouts(run, "completion") == rollouts(runs[0], "completion")
        assert curve(run)[0]["grad_norm"] == pytest.approx(first["grad_norm"], rel=1e-4)
        assert curve(run)[0]["loss"] == pytest.approx(first["loss"], abs=1e-5)
        other = weights(run)
        assert all(torch.allclose(one[name], other[name], atol=1e-5) for name in one)


def test_the_projects_own_reward_the_manifest_and_the_callers_random_numbers(
    model: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    settings = config(model, tmp_path, max_steps=1, reward={"format_weight": 0.5})
    last = train([*ROWS, *ROW_SETS["LONG"]], None, settings, command=["train", "x"])
    assert torch.equal(torch.rand(2), expected)
    assert curve(last)[0]["reward"] is not None
    manifest = json.loads((run_of(last) / "run_manifest.json").read_text())
    assert manifest["command"] == ["train", "x"] and manifest["seeds"] == {"seed": 42}
    assert "1 of 21 rows are dropped" in caplog.text, "one is too long"
    remote = tmp_path / "remote"  # a run that has all its steps only publishes the rest
    again = TrainingConfig.of({**settings.values(), "checkpoint_uri": str(remote)})
    assert train(ROWS, None, again, resume=run_of(last)) == last
    assert len(curve(last)) == 1
    assert sorted(path.name.rpartition("_")[2] for path in remote.iterdir()) == ["final", "step1"]


# Bad input: one line, before anything is created.
ROW_SETS: dict[str, list[Any]] = {
    "ROWS": ROWS,
    "LONG": [{"type": "math", "prompt": "1" * 300, "answer": "1", "response": "1"}],
    "no prompt": [{"type": "math", "answer": "1"}],
    "no response": [{"type": "math", "prompt": "1", "answer": "1", "response": ""}],
    "a poem": [{**ROWS[0], "type": "poem"}],
    "none": [],
}


@tables
def test_bad_input_is_refused_by_its_message(
    model: Path, tmp_path: Path, rows: str, values: dict[str, Any], message: str
) -> None:
    settings = config(model, tmp_path / "out", **values)
    pattern = f"^(UsageError|NoColumn|UnknownName): .*{re.escape(message)}"
    assert not unlike([(pattern, lambda: train(ROW_SETS[rows], None, settings))])
    assert not (tmp_path / "out").exists()


def test_what_is_no_model_folder_engine_or_reward_is_refused(model: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be loaded"):  # an empty directory
        train(ROWS, digits, config(tmp_path, tmp_path / "out"))
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="file"):
        train(ROWS, digits, config(model, tmp_path / "file"))
    settings, other = config(model, tmp_path), config(model, tmp_path)
    object.__setattr__(other, "engine", "verl")
    with pytest.raises(UnknownName):
        train(ROWS, digits, other)
    values: list[tuple[list[Any], str]] = [  # of a reward that returns no numbers
        ([1.0], "the reward gave 1 values for 16 completions"),
        (["high"] * 16, "the reward gave 'high', which is no finite number"),
        ([float("nan")] * 16, "no finite number"),
        ([10**400] * 16, "no finite number"),
    ]
    assert not unlike(
        (f"^UsageError: .*{message}", partial(train, ROWS, lambda *_, given=given: given, settings))
        for given, message in values
    )


# Resuming.
def test_a_gradient_that_is_not_finite_ends_the_run(whole: Whole, tmp_path: Path) -> None:
    from safetensors.torch import save_file

    settings, last = whole(algorithm="sft")
    run = killed_after(last, 2, tmp_path / "run")
    path = run / "checkpoints" / "step_2"
    spoiled = {name: each * torch.nan for name, each in weights(path).items()}
    save_file(spoiled, path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(Diverged, match="the gradient of step 3 is not finite.*learning_rate"):
        train(ROWS, None, settings, resume=run)
    assert checkpoint.newest(run) == path


def test_a_damaged_checkpoint_is_skipped_and_a_state_of_another_algorithm_refused(
    whole: Whole, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings, last = whole(algorithm="sft")
    run = killed_after(last, 3, tmp_path / "run")
    (run / "checkpoints" / "step_3" / "config.json").write_text("{}")
    train(ROWS, digits, settings, resume=run)
    (line,) = [line for line in caplog.messages if "skipped" in line]
    assert line.startswith("step_3 is skipped: config.json has 2 bytes, not ")
    assert line.endswith("; the run resumes from step_2")
    run = killed_after(last, 3, tmp_path / "other")
    rewrite(run / "checkpoints" / "step_3", lambda state: state.pop("algorithm"))
    with pytest.raises(StoreError, match="step_3 is not of a sft run"):
        train(ROWS, digits, settings, resume=run)
    with RunFolder.open(run), pytest.raises(StoreError, match="another run is writing"):
        resume_checkpoint(run, settings)  # the running process may remove the checkpoint
    for path in checkpoint.ready(run):
        (path / "READY").unlink()
    with pytest.raises(UsageError, match="checkpoint to resume from; step_2 is skipped"):
        train(ROWS, digits, settings, resume=run)
    message = "has no complete checkpoint to resume from; start a new run with its config.yaml"
    with pytest.raises(UsageError, match=message):
        train(ROWS, digits, settings, resume=tmp_path)


def test_a_run_does_not_resume_with_a_config_of_another_curve(model: Path, tmp_path: Path) -> None:
    secret = {"token": "hf_" + "x" * 20}  # which the run's directory does not hold
    began = {"max_steps": 1, "engine_options": secret, "weight_decay": 1e-5}
    first = train(ROWS, digits, config(model, tmp_path, **began))
    run, lines = run_of(first), curve(first)
    other = {"seed": 7, "loss": "dapo", "batch_size": 2, "learning_rate": 1e-4, "data": "x.jsonl"}
    with pytest.raises(UsageError) as refused:
        train(ROWS, digits, config(model, tmp_path, **{**began, **other}), resume=run)
    assert str(refused.value) == (
        f"{run} was made with other settings: data was '', is 'x.jsonl'; batch_size was 4, "
        "is 2; learning_rate was 0.001, is 0.0001; loss was 'grpo', is 'dapo'; seed was 42, is 7. "
        "Use the same, or start a new run"
    )
    for name in ("model", "algorithm", "prompt_template"):
        with pytest.raises(UsageError, match=f"settings: {name} was"):
            train(ROWS, digits, config(model, tmp_path, **began, **{name: "sft"}), resume=run)
    assert curve(first) == lines
    may = {"max_steps": 2, "save_every": 1, "save_total_limit": 1, "device": "cpu"}
    may["tokens_per_batch"] = 99
    assert train(ROWS, digits, config(model, tmp_path / "b", **{**began, **may}), resume=run)


def test_engines_at_scale_and_clusters_may_be_exchanged(tmp_path: Path) -> None:
    assert set(TrainingConfig.kinds()) > MAY_CHANGE
    engines = ("asyncio", "ray", "local", "trl")
    for before in engines:
        run = tmp_path / before
        run.mkdir()
        address = "ray_address: 10.0.0.1:6379\n" if before == "ray" else ""
        (run / "config.yaml").write_text(f"model: m\nengine: {before}\n{address}")
        for now in engines:
            if now == before or {now, before} == {"asyncio", "ray"}:
                check_unchanged(run, TrainingConfig("m", engine=now))
            else:
                with pytest.raises(UsageError, match=f"engine was '{before}', is '{now}'"):
                    check_unchanged(run, TrainingConfig("m", engine=now))


def test_the_config_of_an_earlier_version_is_read(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(
        "model: m\nsteps: 7\nstyle: plain\nmode: sequential\nwarmup: 2\nreward_cut_off: true\n"
        "kl: 0.5\nrollout: transformers\nreplays: 1\nkeep_equal_groups: false\nkeep: 9\n"
        "checkpoints: a\ntraces: b\ndatasets: [{name: a, path: a.jsonl, style: plain}]\n"
    )
    config = TrainingConfig.of(read_config(tmp_path))
    assert (config.max_steps, config.warmup_steps, config.save_total_limit) == (7, 2, 9)
    assert (config.kl_coef, config.checkpoint_uri, config.trace_uri) == (0.5, "a", "b")
    assert config.mixture[0].prompt_template == config.prompt_template == "plain"
    check_unchanged(tmp_path, config)


def test_an_interrupted_run_logs_what_it_resumes_from(
    model: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for at, message in ((1, "has no checkpoint to resume from"), (2, "resumes from step_1")):

        def interrupt(step: int, values: Mapping[str, Any], at: int = at) -> None:
            if step == at:
                raise KeyboardInterrupt

        settings = config(model, tmp_path / str(at), save_every=1)
        with pytest.raises(KeyboardInterrupt):
            train(ROWS, digits, settings, on_step=interrupt)
        (run,) = (tmp_path / str(at)).iterdir()
        assert str(run) in caplog.messages[-1] and caplog.messages[-1].endswith(message)


# TRL logs a step, where this test asks, when it has decided on what comes after it.
@pytest.mark.slow
@pytest.mark.parametrize(("engine", "last"), [("local", 2), ("asyncio", 2), ("trl", 3)])
def test_a_run_that_is_asked_to_stop_saves_its_step_and_says_how_to_resume(
    model: Path, tmp_path: Path, engine: str, last: int
) -> None:
    if engine == "trl":
        pytest.importorskip("trl")
    stop = threading.Event()
    settings = config(model, tmp_path, engine=engine, save_every=100, max_steps=4)

    def ask(step: int, values: Mapping[str, Any]) -> None:
        if step == 2:
            stop.set()

    with pytest.raises(Stopped) as stopped:
        train(ROWS, digits, settings, on_step=ask, stop=stop)
    (run,) = tmp_path.iterdir()
    begun = f"stopped after step {last} of 4, which is saved: infinite-rl train grpo {run}"
    assert str(stopped.value) == begun
    assert [path.name for path in ready(run)] == [f"step_{last}"] and not (run / FINAL).exists()
    end = train(ROWS, digits, settings, resume=run)
    assert end.name == "step_4"
    assert [event["step"] for event in events(end, "train")] == [1, 2, 3, 4]


@pytest.mark.parametrize("algorithm", ["sft", "grpo"])
def test_greedy_answers_are_logged_while_it_trains_and_change_nothing(
    model: Path, tmp_path: Path, algorithm: str
) -> None:
    values = {"algorithm": algorithm, "max_steps": 2, "save_every": 2}
    runs = []
    for every in (0, 1):
        settings = config(model, tmp_path / str(every), **values, generations_every=every)
        runs.append(train(ROWS, digits, settings))
    assert not events(runs[0], "generations")
    first, second = events(runs[1], "generations")
    assert (first["step"], second["step"], len(first["per_example"])) == (1, 2, 8)
    for each, row in zip(first["per_example"], ROWS, strict=False):
        assert (each["prompt"], each["reference"]) == (row["prompt"], row["answer"])
        assert each["reward"]["reward"] == digits([row], [each["response"]])[0]
    assert first["avg_token_entropy"] > 0
    assert curve(runs[0]) == curve(runs[1])
    one, other = map(weights, runs)
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_a_step_that_memory_does_not_hold_names_the_limit_and_the_key(
    model: Path, tmp_path: Path
) -> None:
    def too_much(rows: Sequence[Mapping[str, Any]], texts: Sequence[str]) -> list[float]:
        return [float(torch.empty(2**56, dtype=torch.uint8)[0]) for _ in texts]

    message = "^the memory is too small.*: .*; use a smaller tokens_per_batch; .* has no checkpoint"
    with pytest.raises(RunDied, match=message):
        train(ROWS, too_much, config(model, tmp_path))


_ON_FULL_DISK = """
import sys
from pathlib import Path
from tiny_training import ROWS, config, digits
from infinite_rl.training import train
try:
    train(ROWS, digits, config(Path(sys.argv[1]), Path(sys.argv[2])))
    print("it ended")
except Exception as error:
    print(type(error).__name__, error)
"""


@pytest.mark.slow
def test_a_full_disk_says_so_and_names_the_checkpoint_before(model: Path, tmp_path: Path) -> None:
    """A small file system in memory, where the kernel lets a user mount one of his own."""
    out = tmp_path / "out"
    out.mkdir()
    mount = f"mount -t tmpfs -o size=900k none {out} && exec "
    script = f"{mount} {sys.executable} -c '{_ON_FULL_DISK}' {model} {out}"
    unshare = ["unshare", "-rm", "sh", "-c"]
    try:
        subprocess.run([*unshare, f"{mount} true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no file system can be mounted here")
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    done = subprocess.run([*unshare, script], capture_output=True, text=True, env=environment)
    assert re.search(
        r"^DiskFull cannot write .*: No space left on device; infinite-rl train grpo .* resumes "
        r"from step_\d$",
        done.stdout.strip(),
    ), done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "GRPO, staleness 1",
        *soak("SFT", "GRPO", "DAPO with SFT beside"),
    ],
)
def test_kills_at_random_moments_change_no_step_no_answer_and_no_weight(name: str) -> None:
    found = killed(name, kills=2, steps=28)
    assert found.kills == 2
    assert found.faults == []


@pytest.mark.slow
@pytest.mark.parametrize("steps", [1, 2])
def test_the_benchmark_counts_as_few_steps_as_it_is_told(tmp_path: Path, steps: int) -> None:
    from benchmarks.training import make, rate

    make(tmp_path / "model")
    assert rate("local", str(tmp_path), 4, 1.0, steps) > 0
