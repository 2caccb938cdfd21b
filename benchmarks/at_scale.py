"""A mixed run on many workers, beside one that takes turns: is all accounted for, what overlaps?

    python -m benchmarks.at_scale [--steps N] [--ray] [-o PATH]

Nothing is fetched. The rows are simple ones in the form of GSM8K, MBPP and IFEval, read by their
loaders and judged by their rewards, programs in the sandbox. A tiny model learns them by SFT from
labels of which two in five are wrong; so of eight answers to a prompt some are right, some not.

From there GRPO is run with 2 rollout and 2 reward workers: in turns (max_staleness 0), at once
(max_staleness 1), the same while one worker of each kind is killed on the way, and that without the
filter of groups of equal rewards. Each line has the outcomes of all prompts, the fraction of groups
whose rewards are not all equal, and how much of the time trainer and rollout workers waited.
With --ray the last one is run on a local Ray cluster as well, where the processes of the first
rollout and the first reward worker get kill -9.
"""

from __future__ import annotations

import argparse
import os
import signal
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from json import dumps
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from benchmarks.sandbox import machine

if TYPE_CHECKING:
    from infinite_rl.training import TrainingConfig
    from infinite_rl.training.engines.async_engine import FactoryContext
    from infinite_rl.training.engines.roles import WorkerFactory

WRONG = 0.4  # the share of labels
NAMES = ("Ann", "Ben", "Eva", "Ida", "Leo", "Max", "Mia", "Noa", "Tim", "Zoe")
THINGS = ("rain", "snow", "fire", "wood", "iron", "salt", "milk", "corn", "gold", "wind")
ROWS = 200  # of each kind
BEGINNING = 2  # steps that are not timed: models are loaded, sandboxes warmed up
Row = dict[str, Any]
AT_SCALE: Row = {
    "engine": "asyncio",
    "batch_size": 8,
    "prompts_per_pass": 2,
    "group_size": 8,
    "max_new_tokens": 12,
    "learning_rate": 1e-4,
    "save_every": 10,
    "rollout_workers": 2,
    "reward_workers": 2,
}
WARM_UP: Row = {"algorithm": "sft", "batch_size": 48, "learning_rate": 4e-3, "warmup_steps": 10}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=50, metavar="N")
    parser.add_argument("--ray", action="store_true")
    parser.add_argument("-o", "--out", type=Path, metavar="PATH", help="where the runs stay")
    args = parser.parse_args()
    print(machine(), flush=True)
    if args.out:
        compare(args.out, args.steps, args.ray)
        return
    with tempfile.TemporaryDirectory() as folder:
        compare(Path(folder), args.steps, args.ray)


def compare(folder: Path, steps: int, ray: bool = False) -> None:
    """Run them all, and print a line for each."""
    base = prepared(folder, steps)
    at_once = replace(base, max_staleness=1)
    runs: list[tuple[str, TrainingConfig, tuple[str, ...]]] = [
        ("in turns", base, ()),
        ("at once", at_once, ()),
        ("two killed", at_once, ("rollout", "reward")),
        ("no filter", replace(at_once, keep_zero_std_groups=True), ("rollout", "reward")),
    ]
    print(RunSummary.HEAD, flush=True)
    result = {}
    for name, config, killed in runs:
        result[name] = run_summary(name, trained(config, killed))
        print(result[name].line(), flush=True)
    if ray:
        result["on Ray"] = run_summary("on Ray", trained_on_ray(runs[-1][1], folder / "ray"))
        print(result["on Ray"].line(), flush=True)
    wanted = Counter(first_of(base, steps * base.batch_size))
    for name in list(result)[3:]:
        same = "are" if result[name].used == wanted else "are NOT"
        print(
            f"{name}: the prompts used {same} the first {wanted.total()} of the schedule, once each"
        )


# --- what is run ----------------------------------------------------------------------------------


def prepared(folder: Path, steps: int, warm_up: int = 240) -> TrainingConfig:
    """The config of a run of so many steps, from a model that has learned its partly wrong labels
    in `warm_up` steps."""
    import torch

    from infinite_rl.training import TrainingConfig, train
    from infinite_rl.training.runs.demo import make_tokenizer, tiny_model

    torch.set_num_threads(1)
    folder.mkdir(parents=True, exist_ok=True)
    common = {"out": str(folder / "runs"), "prompt_template": "plain", "device": "cpu"}
    datasets = published(folder)
    base_config = TrainingConfig.of({**AT_SCALE, **common, "model": "none", "datasets": datasets})
    labelled = labels(base_config, Random("labels"))
    tokenizer = make_tokenizer([row[key] for row in labelled for key in ("prompt", "response")])
    for each in (tokenizer, tiny_model(tokenizer, seed=1, max_position_embeddings=256)):
        each.save_pretrained(folder / "model")
    warm = {**WARM_UP, **common, "model": str(folder / "model"), "max_steps": warm_up}
    model = train(labelled, None, TrainingConfig.of({**warm, "save_every": warm_up}))
    return replace(base_config, model=str(model), max_steps=steps)


def published(folder: Path) -> list[Row]:
    """Write the rows in the form of their benchmarks; what a config says of them."""
    for name, make in MADE.items():
        text = "".join(dumps(make(number)[0]) + "\n" for number in range(ROWS))
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    return [
        {"name": name, "benchmark": name, "path": str(folder / f"{name}.jsonl")} for name in MADE
    ]


def labels(config: TrainingConfig, chance: Random) -> list[Row]:
    """The rows as they will be asked, each with five labels, of which about two are those of other
    rows of their kind."""
    from infinite_rl.training.core.mixed import id_of, rows_of

    result = []
    for row in rows_of(config):
        make = MADE[row["mix_dataset"]]
        for _ in range(5):
            other = chance.randrange(ROWS)
            number = other if chance.random() < WRONG else number_of(id_of(row))
            result.append({**row, "response": make(number)[1]})
    return result


def number_of(name: str) -> int:
    """The number at the end of an id."""
    return int(name.rpartition("-")[2]) % 1000


def sums(number: int) -> tuple[Row, str]:
    """A word problem, and its answer."""
    one, other = number % 9 + 1, number // 9 % 9 + 1
    name, thing = NAMES[number // 81 % 10], THINGS[number % 10]
    question = f"{name} has {one} bags of {thing} and gets {other} more. How many bags are there?\n"
    return {"question": question, "answer": f"#### {one + other}"}, f"#### {one + other}"


def programs(number: int) -> tuple[Row, str]:
    """A program to write, and the program."""
    by, (word, sign) = number % 9 + 1, (("adds", "+"), ("takes away", "-"))[number // 9 % 2]
    name = f"f{number // 18}"
    code = f"def {name}(x):\n    return x {sign} {by}\n"
    tests = [f"assert {name}({x}) == {x + by if sign == '+' else x - by}" for x in (1, 5)]
    base_config = f"Write a function {name} that {word} {by}."
    record = {"task_id": 2000 + number, "text": base_config, "code": code, "test_list": tests}
    return {**record, "test_setup_code": ""}, "\n" + code


def instructions(number: int) -> tuple[Row, str]:
    """Words that an answer must have, and an answer."""
    name, thing = NAMES[number // 10 % 10], THINGS[number % 10]
    prompt = f"{name} wants a line with the word {thing}. Write {number // 100 + 1}.\n"
    checks = {"instruction_id_list": ["keywords:existence"], "kwargs": [{"keywords": [thing]}]}
    return {"key": 3000 + number, "prompt": prompt, **checks}, f"Here is some {thing} for you."


MADE: Mapping[str, Callable[[int], tuple[Row, str]]] = {
    "gsm8k": sums, "mbpp": programs, "ifeval": instructions,
}  # fmt: skip


def trained(config: TrainingConfig, killed: Sequence[str] = ()) -> Path:
    """The run of a config, in which the first worker of these roles is killed on the way."""
    from infinite_rl.adapters.scorer import Scorer
    from infinite_rl.training.core.mixed import rows_of
    from infinite_rl.training.engines.async_engine import thread_workers, train_async
    from infinite_rl.training.runs.run_log import TrainingRun

    scorer = Scorer.of(config.reward)
    training = TrainingRun(rows_of(config, scorer), scorer, config)
    return train_async(killing(thread_workers, killed), training).parent.parent


def trained_on_ray(config: TrainingConfig, out: Path) -> Path:
    """The run of a config on a local Ray cluster, two processes of which are killed on the way."""
    from infinite_rl.training import train

    def kill(step: int, _: Mapping[str, Any]) -> None:
        for role, when in (("rollout", config.max_steps // 3), ("reward", config.max_steps // 2)):
            if step == when:
                os.kill(process_of(out, f"{role}-0"), signal.SIGKILL)

    return train(
        None, None, replace(config, engine="ray", out=str(out)), on_step=kill
    ).parent.parent


def process_of(runs: Path, worker: str) -> int:
    """The process of a worker of the run that goes on there."""
    from infinite_rl.training.runs.run_folder import read_events

    (run,) = runs.iterdir()
    placed = [each for each in read_events(run, "placed") if each["worker"] == worker]
    return int(placed[-1]["pid"])


def killing(placement: FactoryContext, roles: Sequence[str]) -> FactoryContext:
    """The placement, in which the first worker of each of these roles dies in its fifth call."""

    @contextmanager
    def killed(spec: Any, log_event: Any) -> Iterator[WorkerFactory]:
        with placement(spec, log_event) as factory:
            yield Killing(factory, {f"{role}-0" for role in roles})

    return killed


@dataclass
class Killing:
    """A worker factory, some of whose workers die once."""

    factory: WorkerFactory
    mortal: set[str]

    async def start(self, role: str, name: str) -> Any:
        worker = await self.factory.start(role, name)
        if name not in self.mortal:
            return worker
        self.mortal.remove(name)
        return Mortal(worker)

    async def unreachable(self) -> None:
        await self.factory.unreachable()


@dataclass
class Mortal:
    """A worker that dies in its fifth call, loads of weights not counted."""

    worker: Any
    calls: int = 0

    async def call(self, method: str, *args: Any) -> Any:
        from infinite_rl.training.engines.roles import WorkerLost

        result = await self.worker.call(method, *args)
        self.calls += method != "load"
        if self.calls == 5:
            raise WorkerLost("killed by the benchmark")
        return result

    def kill(self) -> None:
        self.worker.kill()


# --- what has come of it --------------------------------------------------------------------------


@dataclass(frozen=True)
class RunSummary:
    """What a run's events tell; `used` counts the groups that each prompt was learned from in.

    Waiting and overlap are those after the first steps: `waited` is the share of the time in which
    the workers of a role did nothing, `overlap` that of the training beside which one sampled.
    """

    name: str
    seconds: float
    outcomes: Mapping[str, int]
    used: Counter[str]
    unequal: float
    waited: Mapping[str, float]
    overlap: float
    lost: int

    HEAD = (
        f"{'run':>10}  {'s/step':>6}  "
        f"{'trained':>7}  {'filtered':>8}  {'discarded':>9}  {'failed':>6}  "
        f"{'unequal':>7}  {'trainer waits':>13}  {'samplers wait':>13}  {'overlap':>7}  {'lost':>4}"
    )

    def line(self) -> str:
        outcomes = self.outcomes
        return (
            f"{self.name:>10}  {self.seconds:6.2f}  "
            f"{outcomes['trained']:>7}  {outcomes['filtered']:>8}  {outcomes['discarded']:>9}  "
            f"{outcomes['failed']:>6}  {self.unequal:7.0%}  {self.waited['trainer']:13.0%}  "
            f"{self.waited['rollout']:13.0%}  {self.overlap:7.0%}  {self.lost:>4}"
        )


def run_summary(name: str, run: Path) -> RunSummary:
    """What the events and rollouts of a run tell."""
    from infinite_rl.training.runs import timeline
    from infinite_rl.training.runs.run_folder import read_events, read_rollouts

    whole = timeline.read(run)
    starts = [each.ended for each in whole.spans if each.stage == "train"][BEGINNING - 1]
    later = [each for each in whole.spans if each.began >= starts]
    result = timeline.summary(timeline.Timeline(later, whole.outcomes))
    groups: dict[tuple[str, int, str], set[float]] = {}
    for answer in read_rollouts(run):
        key = answer["row"], answer["step"], answer["outcome"]
        groups.setdefault(key, set()).add(answer["reward"])
    steps = [each["seconds"] for each in read_events(run, "train")][BEGINNING:]
    return RunSummary(
        name,
        seconds=sum(steps) / len(steps),
        outcomes=result["outcomes"]["all"],
        used=Counter(row for row, _, outcome in groups if outcome == "trained"),
        unequal=sum(len(each) > 1 for each in groups.values()) / len(groups),
        waited=result["idle"],
        overlap=result["overlap"]["of_training"],
        lost=sum(1 for _ in read_events(run, "lost")),
    )


def first_of(config: TrainingConfig, count: int) -> list[str]:
    """The ids of the prompts that a schedule begins with."""
    from infinite_rl.training.core.batches import rows_of_step
    from infinite_rl.training.core.mixed import id_of, rows_of

    rows = rows_of(config)
    return [id_of(rows[at]) for at in rows_of_step(len(rows), count, 0, config.order("prompts"))]


if __name__ == "__main__":
    main()
