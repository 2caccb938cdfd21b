"""Generation in file batches: nothing is lost between a batch and the process that began it."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import gemini_server as gemini
import pytest
from commands import Here
from sums import failures, make, solves, task

from infinite_rl.dataset import load_dataset
from infinite_rl.errors import ProviderUnavailable, UsageError
from infinite_rl.generation.progress import Progress
from infinite_rl.generator import generate_dataset
from infinite_rl.inference.journal import batches
from infinite_rl.providers.batch import GeminiBatches
from infinite_rl.providers.models import Price
from infinite_rl.providers.scripted import ScriptedProvider

pytestmark = pytest.mark.slow
ALONE = {"ideas": False, "novelty": False}  # batches of tasks alone, which differ by numbers


def mostly_right(request: gemini.Request) -> gemini.Reply | str:
    """A task, wrong for every third seed; or, for a solver, its solution."""
    if request.prompt.startswith("What is"):
        return solves("", request.prompt, 0)
    seed = request.seed or 0
    return task(seed, shown=seed + 1 + (seed % 3 == 0))


class Service:
    """A service of batches, and the runs of one folder that ask it."""

    def __init__(self, server: gemini.GeminiServer, folder: Path) -> None:
        self.server, self.folder = server, folder
        key, url = server.key, server.base_url
        self._provider: Any = GeminiBatches("a-model", api_key=key, base_url=url)

    def run(self, **more: Any) -> Progress:
        options = {"batch": True, "verify": 0, "num_threads": 4, **ALONE, **more}
        return make(self.folder, self._provider, 12, **options)

    def finish(self, **more: Any) -> Progress:
        """Run until no batch is under way; what was asked twice is a fault."""
        for _ in range(50):
            if not (progress := self.run(**more)).batches:
                return progress
        raise AssertionError("it never ends")

    def asked_twice(self) -> list[str]:
        keys = Counter(request.key for request in self.server.requests if request.key)
        return [key for key, count in keys.items() if count > 1]


Start = Callable[..., Any]


@pytest.fixture
def start(tmp_path: Path) -> Start:
    """Starts a service that answers so."""

    @contextmanager
    def started(answer: gemini.Answer = mostly_right, **options: Any) -> Iterator[Service]:
        with gemini.GeminiServer(answer, **options) as server:
            yield Service(server, tmp_path)

    return started


def test_calls_go_up_together_and_what_comes_down_is_rows(start: Start, tmp_path: Path) -> None:
    """A batch costs half."""
    price = {"price": Price(2.0, 2.0)}
    with start(polls=2) as service:
        first = service.run(**price)
        assert first.batches == ["batches/b0"] and first.stopped == "a batch is in progress"
        assert len(load_dataset(tmp_path)) == 0
        assert [len(batch.slots) for batch in batches(tmp_path)] == [12]
        with pytest.raises(UsageError, match="--resume"):  # single calls are not made meanwhile
            service.run(batch=False, **price)
        for _ in range(2):
            assert service.run(**price).batches == ["batches/b0"], "it is waited for"
        assert len(service.server.batches) == 1
        done = service.finish(**price)
        assert done.complete and len(load_dataset(tmp_path)) == 12
        assert not service.asked_twice()
        assert len(service.server.batches) >= 2, "repairs went up in a batch of their own"
    failed = failures(tmp_path)
    assert failed and len({row["slot"] for row in failed}) == len(failed)
    usage = done.spending.usage
    tokens = usage.input_tokens + usage.output_tokens + usage.thinking_tokens
    assert tokens and done.spending.cost == pytest.approx(tokens / 1_000_000)


def test_independent_solutions_go_up_until_they_decide(start: Start, tmp_path: Path) -> None:
    def now_and_then(request: gemini.Request) -> gemini.Reply | str:
        """Every fourth solution is wrong, in a way of its own."""
        is_solution, seed = request.prompt.startswith("What is"), request.seed or 0
        wrong = is_solution and seed % 4 == 0
        return f"<answer>-{seed}</answer>" if wrong else mostly_right(request)

    with start(now_and_then) as service:
        done = service.finish(verify=None)
        assert done.complete and not service.asked_twice()
        keys = [request.key for request in service.server.requests if "/solve" in request.key]
    rows, solved = load_dataset(tmp_path), Counter(key.split("/solve")[0] for key in keys)
    assert set(rows["verified_by"]) == {"self-consistency"}
    for slot, agreement in zip(rows["slot"], rows["agreement"], strict=True):
        assert solved[slot] == {"1.0": 2, "0.6667": 3}.get(agreement, 4)
    assert len(set(solved.values())) > 1, "some needed a third, the others were not asked for it"


def test_unanswered_calls_are_sent_again_but_not_for_ever(start: Start, tmp_path: Path) -> None:
    with start() as service:
        for number, state in enumerate(("EXPIRED", "FAILED", "FAILED")):
            assert service.run().batches == [f"batches/b{number}"]
            service.server.end(f"batches/b{number}", state)
        ended = service.run()
        assert not ended.batches and len(service.server.batches) == 3
        assert ended.stopped.startswith("3 batches ended without a completion (the batch is ")
        assert service.finish().complete, "the same command goes on"


def test_a_silent_service_is_not_waited_for_but_one_with_some_answers_is(start: Start) -> None:
    with start(lambda _: gemini.nothing(), polls=0) as service:
        assert "ended without a completion" in service.finish().stopped
        assert len(service.server.batches) == 3
    lost = Counter[str]()

    def loses(request: gemini.Request) -> gemini.Reply | str:
        lost[request.key] += 1
        slow = request.key.startswith("math/0/")
        return gemini.nothing() if slow and lost[request.key] <= 2 else mostly_right(request)

    with start(loses, polls=0) as service:
        service.folder /= "some"
        assert service.finish().complete


@pytest.mark.parametrize("begun", [True, False])
def test_a_lost_batch_is_found(start: Start, monkeypatch: pytest.MonkeyPatch, begun: bool) -> None:
    submit = GeminiBatches.submit

    def lose(self: GeminiBatches, *arguments: Any) -> str:
        if begun:
            submit(self, *arguments)
        raise ProviderUnavailable("the line went dead")

    with start() as service:
        with monkeypatch.context() as patch:
            patch.setattr(GeminiBatches, "submit", lose)
            assert "went dead" in service.run().stopped
        assert service.finish().complete and not service.asked_twice()


def test_only_a_provider_of_batches_can_be_asked_in_batches(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="gemini"):
        make(tmp_path, ScriptedProvider([]), 1, batch=True)
    with pytest.raises(UsageError, match="procedural makes no batches.*gemini"):
        generate_dataset("m", 1, tmp_path, provider="procedural", batch=True)


def test_the_command_continues_as_it_was_told(here: Here, start: Start, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with start() as service:
        environment = service.server.environment

        def command(line: str) -> tuple[int, str, str]:
            done = here(f"generate --out_dir {out} {line}", **environment)
            return done.returncode, done.stdout, done.stderr

        options = "--batch --num_samples 5 --task_dist 0,1 --model_name a-model"
        options += " --no_ideas --no_novelty"
        code, _, errors = command(options)
        assert code == 3 and f"infinite-rl generate --out_dir {out} --resume" in errors
        assert command("--status")[:2] == (3, "batches/b0: 5 calls pending\n")
        assert command("--resume --wait 0.01")[0] == 0
        assert len(load_dataset(out)) == 5
        assert command("--status")[:2] == (0, "no batch is under way\n")
        assert gemini.KEY.encode() not in b"".join(path.read_bytes() for path in out.glob("*.*"))
        for words in ('{"seeds": 1}', '{"seed": "x"}', "[1]", "nonsense", "{"):
            (out / "batch.json").write_text(words, encoding="utf-8")
            code, _, errors = command("--resume")
            assert (code, errors.count("\n")) == (1, 1), errors
        for seconds in ("nan", "-1", "1e300"):
            assert command(f"--resume --wait {seconds}")[0] == 2
        (out / "batch.json").unlink()
        code, _, errors = command("--resume")
        assert code == 2 and "no batch run was begun here" in errors
