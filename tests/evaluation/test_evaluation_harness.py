"""lm_eval through our settings: every score with the settings and the truncation behind it."""

import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from labelled import assert_none, unlike

from infinite_rl import cli
from infinite_rl.dataset import rows
from infinite_rl.dataset.prompt_templates import PROMPT_TEMPLATES
from infinite_rl.errors import InfiniteRLError, StoreError, UsageError
from infinite_rl.evaluation import EvaluationConfig, evaluate, harness
from infinite_rl.evaluation.benchmarks import tasks_of


def config(**more: Any) -> EvaluationConfig:
    told = {"model": "Qwen/m", "tasks": ["gsm8k"], "out": "out", "harness": "lm_eval"}
    return EvaluationConfig.of({**told, "prompt_template": "plain", **more})


def test_nothing_that_a_score_depends_on_is_left_to_a_default() -> None:
    told = config(
        backend="vllm", dtype="bfloat16", few_shot=4, max_new_tokens=512, batch_size=32,
        tensor_parallel_size=2, gpu_memory_utilization=0.8, max_model_len=4096,
        stop=["Question:", "\n\n"], limit=10,
    )  # fmt: skip
    words = " ".join(harness.command(told)[1:])
    assert words == (
        "-m lm_eval run --model vllm --model_args pretrained=Qwen/m dtype=bfloat16 "
        "tensor_parallel_size=2 seed=42 gpu_memory_utilization=0.8 max_model_len=4096 "
        "--tasks gsm8k --num_fewshot 4 --seed 42 --batch_size auto --gen_kwargs temperature=0 "
        'do_sample=False max_gen_toks=512 until=["Question:", "\\n\\n"] '
        "--output_path out/lm_eval --log_samples --limit 10"
    )


def test_the_chat_template_the_device_and_a_folder_of_tasks_are_passed_on() -> None:
    words = harness.command(config(prompt_template="chat", device="cpu", include_path="tasks"))
    assert "--apply_chat_template" in words and words[words.index("--device") + 1] == "cpu"
    assert words[words.index("--include_path") + 1] == "tasks"
    for style, model, place in (
        ("chat", "local-chat-completions", "chat/completions"),
        ("plain", "local-completions", "completions"),
    ):
        served = harness.command(
            config(backend="server", base_url="http://h/v1/", prompt_template=style)
        )
        assert model in served and f"base_url=http://h/v1/{place}" in served


def test_what_lm_eval_has_not_is_refused_and_programs_run_only_where_that_was_allowed() -> None:
    assert "--confirm_run_unsafe_code" not in harness.command(config(tasks=["mbpp"]))
    assert "--confirm_run_unsafe_code" in harness.command(config(unsafe_code=True))
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"prompt_template": "qwen"}, "prompt_template is one of chat, plain"),
        ({"samples": 2}, "are of the native harness"),
        ({"shots": "file"}, "are of the native harness"),
        ({"model": "a,trust_remote_code=True"}, "splits a model's name at commas"),
        ({"backend": "server"}, "needs base_url"),
    ]
    calls = [(said, partial(harness.command, config(**more))) for more, said in wrong]
    assert_none(unlike([*calls, ("lm_eval", partial(evaluate, config()))]))


def left(folder: Path) -> None:
    """What lm_eval leaves: two filters, three items, one group of two tasks."""
    folder.mkdir()
    results = Path(__file__).with_name("lm_eval_results.json").read_text(encoding="utf-8")
    (folder / "results_2026-01-02.json").write_text(results)
    said = ["a " * 10, "a " * 9, "a"]
    samples = [
        {"doc_id": n, "resps": [[text]], "filter": filter_}
        for filter_ in ("strict-match", "flexible")
        for n, text in enumerate(said)
    ]
    rows.write(samples, folder / "samples_sums_2026-01-02.jsonl")
    (folder / "results_2026-01-01.json").write_text("{")


def test_each_figure_has_its_items_settings_and_truncation(tmp_path: Path) -> None:
    left(tmp_path / "r")
    group, strict, flexible = harness.lines(
        tmp_path / "r", config(few_shot=4), lambda text: len(text.split())
    )
    assert (strict.metric, strict.value, strict.stderr) == ("exact_match,strict-match", 1 / 3, 0.2)
    assert (flexible.metric, flexible.stderr) == ("exact_match,flexible", None)
    assert (strict.items, strict.few_shot, strict.max_tokens) == (3, 4, 10)
    assert strict.truncated == group.truncated == pytest.approx(1 / 3)
    assert (group.metric, group.stop) == ("exact_match", ["Q:", "<x|y>"])
    assert strict.cells()[2] == "33.33 ± 20.00 %"
    *_, last = harness.lines(tmp_path / "r", config(), None)
    assert last.cells()[6] == "unknown"  # without a tokenizer
    with pytest.raises(StoreError, match="left no results"):
        list(harness.lines(tmp_path / "none", config(), None))


STRICT = {"exact_match,strict-match", "exact_match,flexible-extract"}


def local_tasks(tasks: list[str], folder: Path, files: dict[str, str]) -> list[str]:
    """lm_eval's own tasks, prompts, filters and metrics, over rows of this disk; their names."""
    import yaml

    published = Path(pytest.importorskip("lm_eval").__file__).parent / "tasks"
    names = []
    for task in tasks:
        (path,) = published.glob(f"*/{task}.yaml")
        whole = yaml.safe_load(re.sub("!function", "", path.read_text(encoding="utf-8")))
        if "group" in whole:
            parts = local_tasks(whole["task"], folder, files)
            changes = {"group": f"{task}_local", "task": parts}
        else:
            changes = {"task": f"{task}_local", "dataset_path": "json", "dataset_name": None}
            changes["dataset_kwargs"] = {"data_files": files}
        text = yaml.safe_dump({"include": str(path), **changes})
        (folder / f"{task}_local.yaml").write_text(text)
        names.append(f"{task}_local")
    return names


@pytest.mark.slow(30)
def test_it_really_runs_on_a_model_with_a_task_of_this_machine_and_one_of_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("lm_eval")
    pytest.importorskip("torch")
    from tiny_models import save_tiny

    from infinite_rl.training.runs.tiny import make_items

    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))
    model = tmp_path / "model"
    save_tiny(model)
    made = [{"prompt": f"{n} + 1 =", "answer": str(n + 1)} for n in range(12)]
    rows.write(made, tmp_path / "sums.jsonl")
    (tmp_path / "tasks").mkdir()
    task = Path(__file__).with_name("tiny_sums.yaml").read_text()
    file = str(tmp_path / "sums.jsonl")
    (tmp_path / "tasks" / "tiny.yaml").write_text(task.replace("FILE", file))
    rows.write(make_items("gsm8k", 10, test=False, seed=1), tmp_path / "gsm8k.jsonl")
    items = str(tmp_path / "gsm8k.jsonl")
    (own,) = local_tasks(["gsm8k"], tmp_path / "tasks", {"test": items, "train": items})
    words = ["evaluate", "--harness", "lm_eval", "--model", str(model)]
    words += ["--tasks", f"tiny_sums,{own}"]
    words += ["--prompt_template", "plain", "--include_path", str(tmp_path / "tasks")]
    words += ["--device", "cpu"]
    words += ["-o", str(tmp_path / "out"), "--limit", "10", "--few_shot", "1"]
    assert cli.main([*words, "--max_new_tokens", "6", "--dtype", "float32"]) == 0
    shown = capsys.readouterr().out
    (line,) = [line for line in shown.splitlines() if line.startswith("| tiny")]
    cells = [cell.strip() for cell in line.strip("|").split(" | ")]
    assert cells[0] == "tiny\\_sums" and cells[1] == "exact\\_match"
    assert cells[3:6] == ["10", "1", "6"] and cells[6] != "unknown"
    assert "backend hf, seed 42" in shown and "lm_eval run" in shown
    assert (tmp_path / "out" / "lm_eval.md").read_text() == shown
    lines = [line for line in harness.read_lines(tmp_path / "out") if line.task == own]
    assert {line.metric for line in lines} == STRICT
    assert {(line.items, line.few_shot, line.max_tokens) for line in lines} == {(10, 1, 6)}
    whole = harness.command
    monkeypatch.setattr(harness, "command", lambda told: [*whole(told), "--num_fewshot", "x"])
    with pytest.raises(InfiniteRLError, match=r"lm_eval failed \(.*--num_fewshot.*; see .*log"):
        harness.run_harness(config(model=str(model), out=str(tmp_path / "b")))


RECIPES = {
    "gsm8k_0shot": ("gsm8k", 0, STRICT),
    "gsm8k_4shot": ("gsm8k", 4, STRICT),
    "gsm8k_8shot": ("gsm8k", 8, STRICT),
    "math_4shot": ("math500", 4, {"exact_match"}),
    "ifeval_0shot": (
        *("ifeval", 0),
        {f"{level}_level_{how}_acc" for level in ("prompt", "inst") for how in ("strict", "loose")},
    ),
    "mbpp_3shot": ("mbpp", 3, {"pass_at_1"}),
    "humaneval_0shot": ("humaneval", 0, {"pass@1,create_test"}),
}
NEEDS = {"ifeval": ("immutabledict", "langdetect", "nltk"), "math500": ("sympy",)}


@pytest.mark.slow
@pytest.mark.soak
@pytest.mark.parametrize("recipe", RECIPES)
def test_lm_evals_own_tasks_run_by_their_recipes_on_local_files(
    recipe: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of programs the metric is in `code_eval`: lm_eval's is a script on the hub."""
    benchmark, shots, metrics = RECIPES[recipe]
    for module in ("torch", *NEEDS.get(benchmark, ())):
        pytest.importorskip(module)
    from infinite_rl.training.runs.tiny import ITEMS, make_items, make_tiny

    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_MODULES_CACHE", str(tmp_path / "modules"))
    monkeypatch.chdir(Path(__file__).parent)  # where lm_eval finds code_eval
    make_tiny(tmp_path / "model", steps=0)
    items = str(tmp_path / "model" / ITEMS / f"{benchmark}.jsonl")
    files = {"test": items, "train": items}
    if shots:
        files["train"] = str(tmp_path / "train.jsonl")
        name = "math" if benchmark == "math500" else benchmark
        rows.write(make_items(name, 20, test=False, seed=1), tmp_path / "train.jsonl")
    if benchmark == "mbpp":  # the recipe's is the full set, where the column has another name
        full = [{**row, "text": row["prompt"]} for row in rows.read(items)]
        files["test"] = str(tmp_path / "test.jsonl")
        rows.write(full, files["test"])
    (tmp_path / "tasks").mkdir()
    path = CONFIGS[0].with_name(f"lm_eval_{recipe}.yaml")
    tasks = list(EvaluationConfig.read(path, {"out": "out"}).tasks)
    (task,) = local_tasks(tasks, tmp_path / "tasks", files)
    words = ["evaluate", str(path), "--model", str(tmp_path / "model"), "--backend", "transformers"]
    words += ["--dtype", "float32", "--device", "cpu", "--tasks", task]
    words += ["--include_path", str(tmp_path / "tasks"), "--limit", "4", "--max_new_tokens", "8"]
    assert cli.main([*words, "--max_model_len", "0", "-o", str(tmp_path / "out")]) == 0
    shown = capsys.readouterr().out
    lines = [line for line in harness.read_lines(tmp_path / "out") if line.task == task]
    assert {line.metric for line in lines} == metrics
    count = 4 * (7 if benchmark == "math500" else 1)  # of each subject
    assert {(line.items, line.few_shot, line.max_tokens) for line in lines} == {(count, shots, 8)}
    assert f"--num_fewshot {shots}" in shown


def test_a_wrong_tokenizer_shows_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    monkeypatch.setattr(harness, "find_spec", lambda name: name)
    monkeypatch.setattr("subprocess.run", None)
    (tmp_path / "model").mkdir()
    for name, reason in (("none", "there is no model folder"), ("model", "cannot be loaded")):
        with pytest.raises(UsageError, match=reason):
            harness.run_harness(config(model=str(tmp_path / name), out=str(tmp_path / "out")))


CONFIGS = sorted((Path(__file__).parents[2] / "configs" / "eval").glob("*.yaml"))


def test_there_is_a_recipe_for_each_baseline_and_each_can_be_run_as_it_says() -> None:
    pytest.importorskip("yaml")
    shots = {"gsm8k_0shot", "gsm8k_4shot", "gsm8k_8shot", "math_4shot", "ifeval_0shot"}
    names = {f"lm_eval_{name}" for name in shots | {"mbpp_3shot", "humaneval_0shot"}}
    names |= {"gsm8k", "math500", "ifeval", "mbpp", "humaneval"}
    assert names <= {path.stem for path in CONFIGS}
    for path in CONFIGS:
        told = EvaluationConfig.read(path, {"out": "out"})
        text = path.read_text(encoding="utf-8")
        assert f"infinite-rl evaluate configs/eval/{path.name} -o " in text
        assert "Not run here" in text and told.seed == 42 and told.sampling_temperature == 0
        if told.harness == "lm_eval":
            assert harness.command(told)
        else:
            assert tasks_of(told.tasks) and told.prompt_template in PROMPT_TEMPLATES, path


def test_the_guide_names_every_recipe_and_real_flags(capsys: pytest.CaptureFixture[str]) -> None:
    text = (Path(__file__).parents[2] / "docs" / "evaluation.md").read_text(encoding="utf-8")
    for path in CONFIGS:
        assert path.name in text or path.stem in text.split("{")[-1].split("}")[0].split(",")
    with pytest.raises(SystemExit):
        cli.main(["evaluate", "--help"])
    known = set(re.findall(r"--\w+", capsys.readouterr().out))
    assert set(re.findall(r"--\w+", text)) <= known
