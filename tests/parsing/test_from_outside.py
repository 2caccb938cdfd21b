"""One of each, made outside of the package and passed in: nothing inside is edited."""

import csv
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from infinite_rl import (
    Completion,
    Execution,
    Program,
    RewardExecutor,
    RewardFunction,
    RewardFunctionScore,
    TaskType,
    generate_dataset,
)
from infinite_rl.cli import main
from infinite_rl.dataset import load_dataset
from infinite_rl.export import Format, export
from infinite_rl.generation.rescore import rescore
from infinite_rl.layout import render, tagged
from infinite_rl.reward_functions import own_rewards
from infinite_rl.reward_functions.coding import CodingRewardFunction
from infinite_rl.runtimes import Limits
from infinite_rl.verification.certificate import reprove

# A task type and its reward: programs of a language that only adds. A runtime for that language,
# and a provider that writes such tasks.


class Sums:
    """A runtime: a program is numbers with plus signs between them."""

    def run(self, program: Program, limits: Limits) -> Execution:
        try:
            total = sum(map(int, program.code.split("+")))
            return Execution(str(total), "", 0, "ok")
        except ValueError as error:
            return Execution("", str(error), 1, "error")


class SumReward(RewardFunction):
    """A reward: what the program comes to."""

    executor = RewardExecutor(runtimes={"sums": Sums()})

    def compute_reward(
        self, model_output: str, expected_output: Any, answer_tag: str = "answer"
    ) -> RewardFunctionScore:
        program = model_output.split(f"<{answer_tag}>")[-1].split(f"</{answer_tag}>")[0]
        run = self.executor.execute(program, "sums")
        right = run.status == "ok" and run.stdout == expected_output
        return RewardFunctionScore(1.0, float(right), status="passed" if right else "failed")


class SmallSums(SumReward):
    """A stricter reward: it takes sums of less than five alone."""

    def compute_reward(
        self, model_output: str, expected_output: Any, answer_tag: str = "answer"
    ) -> RewardFunctionScore:
        if int(expected_output) < 5:
            return super().compute_reward(model_output, expected_output, answer_tag)
        return RewardFunctionScore(1.0, 0.0, status="failed")


@dataclass
class Dictating:
    """A provider: the next sum, and every other time a wrong one."""

    model: str = "dictating"
    asked: int = 0

    def complete(self, system: str, prompt: str, seed: int) -> Completion:
        self.asked += 1
        total = 2 * self.asked + self.asked % 2
        text = render(f"Write {total} as a sum.", str(total), tagged(f"{self.asked}+{self.asked}"))
        return Completion(text, self.model)


SUMS = TaskType("sums", family="sums", reward="sum", system_prompt="Add.", request="A sum.")
LINES = Format(
    "lines",
    "jsonl",
    {"ask": str, "want": str},
    "read the lines",
    lambda item: {"ask": item.text, "want": item.sample.answer},
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sums")
    progress = generate_dataset(
        "dictating",
        num_samples=3,
        out_dir=folder,
        task_dist={"sums": 1.0},
        provider=Dictating(),
        verify=0,
        ideas=False,
        novelty=False,
        extra_tasks={"sums": SUMS},
        extra_rewards={"sum": SumReward("sum")},
    )
    assert progress.complete
    return folder


def test_a_task_a_reward_a_provider_and_a_runtime_of_ones_own_make_rows(made: Path) -> None:
    rows = load_dataset(made)
    assert list(rows["type"]) == ["sum"] * 3
    assert all(int(answer) % 2 == 0 for answer in rows["answer"]), "wrong sums are kept out"


def test_their_rows_are_exported_proven_again_and_judged_anew(made: Path, tmp_path: Path) -> None:
    with (made / "dataset.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    export(rows, LINES, tmp_path, system="")
    lines = (tmp_path / "train.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["want"] for line in lines] == [row["answer"] for row in rows]
    for reward, faults in ((SumReward, [False] * 3), (SmallSums, [False, True, True])):
        proven = reprove(rows, {"sum": reward("sum")}, {"sums": SUMS})
        assert [bool(each.fault) for each in proven] == faults
    stricter = {"sum": SmallSums("sum")}
    rescored = rescore(made, extra_tasks={"sums": SUMS}, extra_rewards=stricter)
    assert rescored.out and rescored.kept == 1
    assert list(load_dataset(rescored.out)["answer"]) == ["4"]


_FILE = """
import re

from infinite_rl import RewardFunction, RewardFunctionScore


class Sum(RewardFunction):
    def compute_reward(self, model_output, expected_output, answer_tag="answer"):
        numbers = re.findall("[0-9]+", model_output)
        passed = sum(map(int, numbers)) == int(expected_output) <= MOST
        return RewardFunctionScore(1.0, float(passed), status="passed" if passed else "failed")
"""


def test_the_verbs_take_a_reward_of_a_file(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, most in (("good", 99), ("small", 4)):
        text = _FILE.replace("MOST", str(most))
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    verify, score = f"verify {made}", f"score {made} -o {tmp_path}/NUMBER.jsonl"
    small = f"--rewards sum={tmp_path}/small.py:Sum"
    for number, (words, code, said) in enumerate(
        (
            (verify, 1, "--rewards sum=FILE.py:CLASS gives one of your own"),
            (f"{verify} --rewards sum={tmp_path}/good.py:Sum", 0, "proven: 3, failed: 0"),
            (f"{verify} {small}", 1, "proven: 1, failed: 2"),
            (f"{verify} --rescore --dry_run {small}", 0, "kept: 1"),
            (score, 2, "--rewards gives one of your own"),
            (f"{score} {small}", 0, "passed 1, failed 2"),
            (f"{score} --rewards {tmp_path}/small.py", 2, "takes NAME=FILE.py:CLASS"),
            (f"{score} --rewards sum={tmp_path}/no.py:Sum", 2, "No such file"),
            (f"{score} --rewards sum={tmp_path}/small.py:Sun", 2, "small.py; did you mean Sum?"),
            (f"{score} --rewards sum=json:loads", 2, "is no subclass of RewardFunction"),
        )
    ):
        assert main(words.replace("NUMBER", str(number)).split()) == code, words
        output = capsys.readouterr()
        assert said in output.out + output.err, words


@pytest.mark.parametrize("verb", ["score", "verify"])
def test_the_help_shows_the_form_of_a_reward(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([verb, "--help"])
    assert "--rewards NAME=FILE.py:CLASS" in capsys.readouterr().out


def test_two_files_of_one_name_are_two_modules(tmp_path: Path) -> None:
    for folder, most in (("good", 99), ("small", 4)):
        (tmp_path / folder).mkdir()
        text = _FILE.replace("MOST", str(most))
        (tmp_path / folder / "reward.py").write_text(text, encoding="utf-8")
    specs = [f"{name}={tmp_path}/{name}/reward.py:Sum" for name in ("good", "small")]
    rewards = own_rewards(specs)
    passed = {name: each.compute_reward("2 + 3", "5").passed for name, each in rewards.items()}
    assert passed == {"good": True, "small": False}
    for each in rewards.values():
        kind = type(each)
        assert vars(sys.modules[kind.__module__])["Sum"] is kind, "pickle finds a class so"


def test_the_packages_own_reward_judges_by_a_runtime_of_ones_own() -> None:
    executor = RewardExecutor(runtimes={"sums": Sums()})
    coding = CodingRewardFunction("coding", executor=executor)
    coding.set_language("sums")
    outputs = [tagged(f"```sums\n{code}\n```") for code in ("1+1", "1+2")]
    assert [score.passed for score in coding.compute_rewards(outputs, ["2", "2"])] == [True, False]
