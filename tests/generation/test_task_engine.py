"""The task engine where many processes or services take part: commands, batches, shards."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import gemini_server as gemini
import openai_server as openai
import pytest
from authors import PUZZLES, Author, Judge, Learner, write
from commands import Here
from sums import AT_ONCE

from infinite_rl import cli
from infinite_rl.config import to_yaml
from infinite_rl.dataset import load_dataset
from infinite_rl.files.logs import read_jsonl, read_rows
from infinite_rl.generation.plan import GenerateOptions, shard_folders
from infinite_rl.generation.ray import ShardedRun, ShardWorker
from infinite_rl.generation.rescore import rescore
from infinite_rl.inference.journal import calls
from infinite_rl.providers.batch import GeminiBatches
from infinite_rl.store import DATASET, DATASET_COLUMNS, FAILED
from infinite_rl.workers.ray_cluster import ActorPool

RIDDLES = {
    "name": "riddles", "reward": "math",
    "request": "Write a riddle about {{ concept }}.", "answer": "The number.",
    "response": "The tag holds the number.",
    "axes": {"concept": ["tides", "looms"], "level": {"values": {1: "One step.", 2: "Two steps."}}},
}  # fmt: skip


def answering(author: Author, learner: Learner, judge: Judge) -> Any:
    """A service of three models."""
    models = {"author": author, "learner": learner, "judge": judge}

    def answer(request: Any) -> str:
        model = models[request.model]
        text: str = model.complete(request.system, request.prompt, request.seed or 0).text
        return text

    return answer


# --- batches
@pytest.mark.slow
def test_ideas_drafts_solutions_rates_and_marks_go_up_in_batches(tmp_path: Path) -> None:
    author, learner, judge = Author(), Learner(lambda n: (0.5, 1.0)[n % 2]), Judge()
    with gemini.GeminiServer(answering(author, learner, judge), polls=0) as server:
        own = {"api_key": server.key, "base_url": server.base_url}
        writer, solver, marks = (
            GeminiBatches(name, **own) for name in ("author", "learner", "judge")
        )
        options = {
            "verify": 0, "batch": True, "solver": solver, "judge": marks, "pass_rate": "0.2:0.8"
        }  # fmt: skip
        first = write(tmp_path, writer, 40, **options)
        assert first.batches and len(next(iter(server.batches.values())).file.splitlines()) == 3, (
            "the lists of all samples go up at once"
        )
        for _ in range(120):
            done = write(tmp_path, writer, 40, **options)
            if not done.batches:
                break
    assert done.complete and len(load_dataset(tmp_path)) == 40
    keys = Counter(request.key for request in server.requests)
    assert max(keys.values()) == 1
    for kind in ("/ideas1", "/rate1", "/judge1"):
        assert any(key.endswith(kind) for key in keys)
    rows = load_dataset(tmp_path)
    assert rows["idea"].nunique() == 40 and rows["concept"].notna().all()
    assert rows["attempts"].astype(int).min() >= 1 and rows["judge"].notna().all()


@pytest.mark.slow
def test_a_batch_of_a_custom_type_is_resumed_by_its_folder_alone(
    here: Here, tmp_path: Path, riddles: Path
) -> None:
    models = answering(Author(), Learner(lambda _: 0.5), Judge())
    with gemini.GeminiServer(models, polls=0) as server:
        words = f"generate --provider gemini --model_name author --verify 0 --tasks {riddles} "
        words += "--num_samples 3 --pass_rate 0.2:0.8 --solver learner --judge judge --batch "
        begun = here(f"{words} --out_dir {tmp_path / 'out'}", **server.environment)
        assert begun.returncode == 3 and "under way" in begun.stderr
        again = f"generate --out_dir {tmp_path / 'out'} --resume --wait 0.01"
        done = here(again, **server.environment)
    assert done.returncode == 0 and done.stdout.count("rows made: ") == 1, done.stderr
    rows = list(read_rows(tmp_path / "out" / DATASET, DATASET_COLUMNS))
    assert len(rows) == 3 and all(row["idea"] and row["judge"] for row in rows)
    assert max(Counter(request.key for request in server.requests).values()) == 1


# --- commands
@contextmanager
def service(author: Author) -> Iterator[openai.OpenAIServer]:
    with openai.OpenAIServer(answering(author, Learner(lambda _: 0.5), Judge())) as server:
        yield server


@pytest.fixture
def riddles(tmp_path: Path) -> Path:
    path = tmp_path / "riddles.yaml"
    path.write_text(to_yaml(RIDDLES), encoding="utf-8")
    return path


def command(server: openai.OpenAIServer, task: Path, out: Path, count: int) -> str:
    return (
        f"generate --provider openai_compatible --model_name author --num_samples {count} "
        f"--verify 0 --tasks {task} --out_dir {out} "
    )


@pytest.mark.slow
def test_a_custom_type_with_solver_and_judge_is_a_row_for_every_verb(
    here: Here, tmp_path: Path, riddles: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    monkeypatch.chdir(tmp_path)
    with service(Author()) as server:
        words = command(server, riddles, out, 6)
        more = f"--pass_rate 0.2:0.8 --solver learner@{server.base_url} --judge judge --threads 3"
        done = here(words + more, **server.environment)
        assert done.returncode == 0, done.stderr
        asked = len(server.requests)
        again = here(words + more, **server.environment)
        assert again.returncode == 0 and len(server.requests) == asked
    rows = list(read_rows(out / DATASET, DATASET_COLUMNS))
    assert {(row["type"], row["family"]) for row in rows} == {("math", "riddles")}
    assert len(rows) == 6
    assert {row["concept"] for row in rows} == {"tides", "looms"}
    assert all(row["judge"] and row["pass_rate"] and row["idea"] for row in rows)
    prompts = [request.prompt for request in server.requests if request.model == "author"]
    assert any("Write a riddle about looms." in each for each in prompts)
    asked, solutions = len(server.requests), out / "solutions.jsonl"
    for line in (
        f"verify {out}", f"verify {out} --rescore", f"score {out} -o scored.jsonl",
        f"report {out} -o report.html", f"export {out} --to sft --out sft",
        f"data pairs {out} {solutions} -o pairs.jsonl", f"data dedup {out} -o unique.jsonl",
        f"solve traces {solutions} -o traces.jsonl",
        f"solve traces {out}/rescored_1/solutions.jsonl -o again.jsonl",
    ):  # fmt: skip
        done = here(line)
        assert done.returncode == 0, (line, done.stderr)
    assert (tmp_path / "again.jsonl").read_bytes() == (tmp_path / "traces.jsonl").read_bytes()
    assert len(list(read_jsonl(tmp_path / "traces.jsonl", dict))) >= 6
    assert set(load_dataset(out)["id"]) == set(load_dataset(out / "rescored_1")["id"])
    assert len(server.requests) == asked


@pytest.mark.slow
def test_a_dry_author_ends_the_command_with_1_and_its_reason(
    here: Here, tmp_path: Path, riddles: Path
) -> None:
    with service(Author(known=12)) as server:
        done = here(command(server, riddles, tmp_path / "out", 100), **server.environment)
    assert done.returncode == 1 and "run dry" in done.stderr
    assert len(load_dataset(tmp_path / "out")) == 12


@pytest.mark.slow
@pytest.mark.parametrize("more", ["", "--verbose", "--batch --debug"])
def test_a_preview_shows_rows_and_keeps_nothing(
    here: Here, tmp_path: Path, riddles: Path, more: str
) -> None:
    out = tmp_path / "out"
    with service(Author()) as server:
        line = command(server, riddles, out, 100) + f"--preview 2 {more}"
        done = here(line, **server.environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("prompt: ") == 2 and "concept: " in done.stdout
    assert done.stdout.endswith("2 rows; nothing was kept\n") and not out.exists()
    assert "idea: " in done.stdout and "dataset.csv" not in done.stdout


def test_weights_of_axes_and_faults_of_options_are_a_line(
    here: Here, tmp_path: Path, riddles: Path
) -> None:
    (seeds := tmp_path / "seeds.jsonl").write_text('{"prompt": "p"}\n', encoding="utf-8")
    with service(Author()) as server:
        words = command(server, riddles, tmp_path / "out", 3)
        for more, said in {
            "--pass_rate 0.2:0.8": "pass_rate and solver belong together",
            "--pass_rate 8 --solver s": "LOW:HIGH",
            '--axes \'{"concpt": {"tides": 1}}\'': "concept",
            f"--seeds {tmp_path}/none.jsonl": "none.jsonl",
            f"--tasks {tmp_path}/none.yaml": "none.yaml",
            "--judge judge --rubric none.yaml": "none.yaml",
            "--provider procedural": "procedural makes no task types of --tasks: ",
            f"--tasks {riddles},{riddles}": "--tasks has two task types of the name 'riddles'",
            f"--seeds {seeds} --operators deepne": "deepen",
        }.items():
            done = here(words + more, **server.environment)
            assert done.returncode == 2 and said in done.stderr, (more, done.stderr)
            assert done.stderr.strip().splitlines()[-1].startswith("error: "), done.stderr
        assert not server.requests


# --- shards
class Local(ActorPool):
    """Workers that do one job after the other, in this process."""

    def __init__(self, size: int) -> None:
        self.size = size

    def run(self, jobs: Any) -> Iterator[tuple[dict[int, Any], dict[int, Any]]]:
        for number, job in jobs.items():
            yield {number: ShardWorker().run(job)}, {}

    def stop(self) -> None:
        """All jobs are done all the same."""


@pytest.mark.slow
def test_a_repeat_between_shards_is_left_out_also_when_rescored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    author, folder, to = Author(known=30), tmp_path / "out", tmp_path / "again"
    answer = answering(author, Learner(lambda _: 0.5), Judge())
    with gemini.GeminiServer(lambda request: reworded(answer(request), request.seed)) as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        options = GenerateOptions(
            "author", 20, folder, provider="gemini", verify=0, retry=AT_ONCE,
            extra_tasks={"puzzles": PUZZLES}, task_dist={"puzzles": 1}, judge="judge",
        )  # fmt: skip
        done = ShardedRun.of(options).go(Local(3))
    rows, left_out = (list(read_rows(folder / name)) for name in (DATASET, FAILED))
    assert done.complete and len(rows) == 20 and len({row["answer"] for row in rows}) == 20
    assert left_out and {row["reason"] for row in left_out} == {"repeat"}
    assert all("in another shard, the same " in row["error_msg"] for row in left_out)
    asked = [str(call.slot) for shard in shard_folders(folder, 3) for call in calls(shard)]
    assert len(asked) == len(set(asked)) and any("/ideas" in slot for slot in asked)
    assert all(row["judge"] and row["idea"] for row in rows)
    assert cli.main(["verify", str(folder)]) == 0, "run.json says what judges puzzles"
    again = rescore(folder, to=to)
    assert (again.kept, again.gained, again.dropped) == (20, 0, 0)
    judged = [
        {row["slot"]: row["judge"] for row in read_rows(each / DATASET)} for each in (folder, to)
    ]
    assert judged[0] == judged[1]


def reworded(text: str, seed: int | None) -> str:
    """The sample with a number of its own in its prompt, which makes no other task of it."""
    return text.replace("?", f" {seed}?", 1) if text.startswith("[PROMPT]") else text


def test_a_run_on_shards_takes_no_provider_objects(tmp_path: Path) -> None:
    from infinite_rl.errors import UsageError

    for role in ({"judge": Judge()}, {"solver": Learner(), "pass_rate": "0.2:0.8"}):
        options = GenerateOptions("m", 2, tmp_path, provider="gemini", **role)  # type: ignore[arg-type]
        with pytest.raises(UsageError, match="must be a name"):
            ShardedRun.of(options)
