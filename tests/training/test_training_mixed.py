"""Rows of several data sets: mixed as told, each with its reward, all checked before training."""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from labelled import Tables, unlike

from infinite_rl.adapters.scorer import Scorer
from infinite_rl.dataset.rows import write
from infinite_rl.errors import UsageError
from infinite_rl.training import train
from infinite_rl.training.core.mixed import by_dataset, id_of, rows_of
from infinite_rl.training.runs.config import TrainingConfig
from infinite_rl.training.runs.run_folder import read_config, read_events, read_rollouts

tables = Tables(__file__)
GSM8K = [
    {"question": f"{n} + {n}?", "answer": f"{n} + {n} = {2 * n}\n#### {2 * n}"} for n in range(6)
]
MBPP = [
    {
        "task_id": 600 + n,
        "text": f"Write a function that adds {n}.",
        "code": f"def add(x):\n    return x + {n}",
        "test_list": [f"assert add(1) == {n + 1}"],
        "test_setup_code": "",
    }
    for n in range(1, 5)
]
IFEVAL = [
    {
        "key": n,
        "prompt": "Write in lower case.",
        "instruction_id_list": ["change_case:english_lowercase"],
        "kwargs": [{}],
    }
    for n in range(3)
]
OWN = [{"id": f"own-{n}", "prompt": f"{n}+1=", "answer": str(n + 1)} for n in range(3)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write(GSM8K, tmp_path / "gsm8k" / "train.jsonl")
    write(MBPP, tmp_path / "mbpp.jsonl")
    write(IFEVAL, tmp_path / "ifeval.jsonl")
    write(OWN, tmp_path / "own.jsonl")
    return tmp_path


def mixed_of(*datasets: Mapping[str, Any], **more: Any) -> TrainingConfig:
    return TrainingConfig.of({"model": "m", "datasets": list(datasets), **more})


A: dict[str, Any] = {"name": "gsm8k", "benchmark": "gsm8k", "path": "gsm8k/train.jsonl"}
B: dict[str, Any] = {"name": "mbpp", "benchmark": "mbpp", "path": "mbpp.jsonl"}
C: dict[str, Any] = {"name": "ifeval", "benchmark": "ifeval", "path": "ifeval.jsonl"}
D: dict[str, Any] = {"name": "own", "path": "own.jsonl", "type": "math", "prompt_template": "plain"}


def ids(config: TrainingConfig) -> list[str]:
    return [id_of(row) for row in rows_of(config)]


@pytest.mark.usefixtures("folder")
def test_each_row_has_its_id_its_set_and_its_reward() -> None:
    rows = rows_of(mixed_of(A, B, C, D), Scorer())
    kinds = {row["mix_dataset"]: row["type"] for row in rows}
    assert kinds == {"gsm8k": "gsm8k", "mbpp": "program", "ifeval": "instruction", "own": "math"}
    assert len({row["mix_id"] for row in rows}) == len(rows) == 6 + 4 + 3 + 3
    assert all(row["mix_id"] == f"{row['mix_dataset']}/{row['id']}" for row in rows)
    assert all(("mix_style" in row) == (row["mix_dataset"] == "own") for row in rows)


@pytest.mark.usefixtures("folder")
def test_right_answers_of_each_kind_get_their_own_reward() -> None:
    from infinite_rl.training.core.rollouts import compute_rewards

    rows = rows_of(mixed_of(A, B, C, D, mix="sequential"))
    right: dict[str, Callable[[Mapping[str, Any]], str]] = {
        "gsm8k": lambda row: f"#### {row['answer']}",
        "mbpp": lambda row: f"<answer>\n```python\n{row['response']}\n```\n</answer>",
        "ifeval": lambda row: "all of this is small",
        "own": lambda row: f"<answer>{row['answer']}</answer>",
    }
    texts = [right[row["mix_dataset"]](row) for row in rows]
    assert set(compute_rewards(Scorer(), rows, texts)) == {1.0}
    assert set(compute_rewards(Scorer(), rows, ["NOTHING OF ALL THIS"] * len(rows))) == {0.0}
    # A set may have options of the reward of its own.
    rows = rows_of(mixed_of({**D, "reward": {"format_weight": 0.5}}, A, mix="sequential"), Scorer())
    assert [("mix_reward" in row) for row in rows] == [True] * 3 + [False] * 6
    wrong = ["<answer>no</answer>"] * len(rows)
    assert compute_rewards(Scorer(), rows, wrong) == [0.5] * 3 + [0.0] * 6
    least = compute_rewards(Scorer(format_weight=0.1), rows, wrong)
    assert least[:3] == [0.5] * 3 and set(least[3:]) <= {0.0, 0.1}


@pytest.mark.usefixtures("folder")
def test_the_mix_decides_the_order() -> None:
    in_sequence = ids(mixed_of({**A, "count": 2}, D, mix="sequential"))
    gsm8k = ["gsm8k/gsm8k-train-0", "gsm8k/gsm8k-train-1"]
    assert in_sequence == gsm8k + [f"own/own-{n}" for n in range(3)]
    weighted = ids(mixed_of({**A, "weight": 1e6}, {**D, "weight": "1e-6"}, mix="weighted"))
    assert [name.partition("/")[0] for name in weighted] == ["gsm8k"] * 6 + ["own"] * 3
    for mode in ("shuffled", "weighted"):
        first, same, other = (ids(mixed_of(A, B, D, mix=mode, seed=seed)) for seed in (1, 1, 2))
        assert first == same != other
    with pytest.raises(UsageError, match="weights are for the mode weighted"):
        rows_of(mixed_of({**A, "weight": 2}))
    twice = rows_of(mixed_of(A, A))  # the same set twice does not collide
    assert len({row["mix_id"] for row in twice}) == 12
    assert Counter(row["mix_dataset"] for row in twice) == {"gsm8k": 6, "gsm8k#2": 6}
    train = mixed_of({**B, "split": "train"}, mix="sequential")  # of a split its rows come
    assert ids(train) == [f"mbpp/mbpp-{n}" for n in (601, 602, 603, 604)]


@pytest.mark.usefixtures("folder")
def test_an_order_file_says_which_rows_come_and_how() -> None:
    Path("order.txt").write_text("own-2\nown/own-0\n")
    config = mixed_of({**D, "order": "order.txt"}, A)
    found = [name for name in ids(config) if name.startswith("own")]
    assert found == ["own/own-2", "own/own-0"]
    assert config.order("prompts") is None  # and so they come in every epoch
    assert mixed_of(D, A).order("prompts") == "42/prompts"
    assert mixed_of(D, A, mix="weighted").order("prompts") is None
    Path("order.txt").write_text("own-2\nown-7\nown-8\nown-0\n")
    with pytest.raises(UsageError) as refused:
        rows_of(mixed_of(A, {**D, "order": "order.txt"}))
    assert "of the 4 ids in the order of own 2 are known" in str(refused.value)
    assert "'own-7', 'own-8'" in str(refused.value)


@tables
def test_bad_rows_are_refused_by_name(folder: Path, changes: dict[str, Any], message: str) -> None:
    rows = [{**row, "type": "math"} for row in OWN]
    write([*rows, {**rows[0], "type": "meth", "id": "bad"}], folder / "bad.jsonl")
    write([{"prompt": "0+1=", "answer": "1"}], folder / "bare.jsonl")
    config = mixed_of(A, D | changes)
    pattern = f"^[A-Za-z]+: dataset {re.escape(message)}"
    assert not unlike([(pattern, lambda: rows_of(config, Scorer()))])


def test_rows_without_a_verdict_are_told(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    write([*IFEVAL, {**IFEVAL[0], "instruction_id_list": ["no:such"]}], folder / "ifeval.jsonl")
    assert len(rows_of(mixed_of(C), Scorer())) == 4
    (line,) = caplog.messages
    assert "dataset ifeval: 1 rows cannot be scored, the first is row 4" in line
    assert "no:such" in line
    assert len(rows_of(mixed_of({**D, "type": "mine"}))) == 3


def test_one_file_of_rows_is_as_it_was(folder: Path) -> None:
    rows = rows_of(TrainingConfig("m", data=str(folder / "own.jsonl")))
    assert rows == OWN and [id_of(row) for row in rows] == ["own-0", "own-1", "own-2"]
    with pytest.raises(UsageError, match="data is missing: the file of rows, or datasets"):
        rows_of(TrainingConfig("m"))


def test_statistics_are_told_by_set() -> None:
    a, b = {"mix_dataset": "a"}, {"mix_dataset": "b"}
    Groups: TypeAlias = "list[tuple[dict[str, str], list[float | None]]]"
    groups: Groups = [(a, [1, 0]), (a, [1, 1]), (a, [0, None]), (b, [None]), ({}, [1, 0])]
    assert by_dataset([({"mix_dataset": [1]}, [1])]) == {"reward/[1]": 1, "unequal/[1]": 0}
    assert by_dataset(groups) == {"reward/a": 0.6, "unequal/a": pytest.approx(1 / 3)}


def test_sets_and_orders_in_s3_are_fetched(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from infinite_rl.training.core import mixed

    asked: list[str] = []

    def fetch(uri: str) -> Path:
        asked.append(uri)
        return folder / uri.removeprefix("s3://bucket/")

    monkeypatch.setattr(mixed, "fetch", fetch)
    (folder / "order.txt").write_text("own-1\n")
    there = {**D, "path": "s3://bucket/own.jsonl", "order": "s3://bucket/order.txt"}
    assert ids(mixed_of(there)) == ["own/own-1"]
    assert asked == ["s3://bucket/order.txt", "s3://bucket/own.jsonl"]


# --- the engine -----------------------------------------------------------------------------------
def run(model: Path, **values: Any) -> Path:
    shape: dict[str, Any] = {
        "max_steps": 2, "batch_size": 4, "group_size": 2, "max_new_tokens": 4, "out": "runs",
        "prompt_template": "plain", "reward_truncated": True, "tokens_per_batch": 512,
    }  # fmt: skip
    config = mixed_of(A, D, **{**shape, **values, "model": str(model)})
    return train(None, odd_lengths, config).parent.parent


def odd_lengths(_: Any, texts: Sequence[str]) -> list[float]:
    return [len(text) % 2 for text in texts]


@pytest.mark.usefixtures("folder")
def test_the_local_engine_trains_on_the_mixture_in_its_order(model: Path) -> None:
    last = run(model, prompt_template="question_answer", mix="sequential", max_steps=1)
    kept = TrainingConfig.of(read_config(last))
    assert kept.mixture == mixed_of(A, D).mixture
    train(None, odd_lengths, TrainingConfig.of({**kept.values(), "max_steps": 2}), resume=last)
    prompts = {each["row"]: each["prompt"] for each in read_rollouts(last)}
    gsm8k = [f"gsm8k/gsm8k-train-{n}" for n in range(6)]
    assert list(prompts) == [*gsm8k, "own/own-0", "own/own-1"]
    first, second = read_events(last, "train")
    assert "reward/gsm8k" in first and "reward/own" not in first
    assert 0 <= second["unequal/own"] <= 1 and first["reward"] == first["reward/gsm8k"]
    assert prompts["gsm8k/gsm8k-train-0"].startswith("Question: ")
    assert prompts["own/own-0"] == "0+1=", "a set may have its own template"
    other = TrainingConfig.of({**kept.values(), "max_steps": 3, "datasets": [A]})
    with pytest.raises(UsageError, match="datasets was"):
        train(None, odd_lengths, other, resume=last)
