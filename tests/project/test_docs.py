"""The guides tell the truth: their commands are read, their configs accepted, their Python runs,
and the pages are made of them without a warning."""

import ast
import itertools
import json
import os
import re
import shlex
import subprocess
import sys
import sysconfig
from collections import Counter
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import yaml
from commands import read
from labelled import soak
from markdown_it import MarkdownIt
from markdown_it.token import Token

import infinite_rl
from infinite_rl.adapters import for_trl
from infinite_rl.cli import main, parse
from infinite_rl.export import read_export
from infinite_rl.launch import config as launch_config
from infinite_rl.tasks.custom import read_task_type
from infinite_rl.training import TrainingConfig

ROOT = Path(__file__).parents[2]
PAGES = {
    page.name: page.read_text(encoding="utf-8")
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
}


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGES[page], re.M | re.S)


def matches(pattern: str) -> list[tuple[str, str]]:
    """The distinct matches on each page, after the page's name."""
    return [
        (page, one)
        for page, text in PAGES.items()
        for one in dict.fromkeys(re.findall(pattern, text.replace("\\\n", " "), re.M))
    ]


LONGEST = 1_500  # words: about six minutes of reading


def test_no_guide_is_too_long_to_read_in_one_sitting() -> None:
    guides = {page: text for page, text in PAGES.items() if page != "benchmarks.md"}  # a table
    words = {page: len(text.split()) for page, text in guides.items()}
    assert {page: count for page, count in words.items() if count > LONGEST} == {}


# --- links ---------------------------------------------------------------------------------------
LINKING = [
    *(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "SECURITY", "CHANGELOG")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *(ROOT / folder / "README.md" for folder in ("build_src", "tests")),
]
# All that lead out, for a person to look at: no test has a network. CONTRIBUTING.md says how to ask
# whether they answer.
OUTSIDE = {
    "https://arxiv.org/abs/2311.07911",
    "https://docs.ray.io",
    "https://github.com/halflearned/rlvr-experiments",
    "https://pypi.org/project/reasoning-gym/",
    "https://semver.org",
    "https://ui.perfetto.dev",
}


def tokens(page: Path) -> list[Token]:
    """A page as Markdown has it, in which what stands in code is neither link nor heading."""
    return MarkdownIt("commonmark").enable("table").parse(page.read_text(encoding="utf-8"))


def links(page: Path) -> list[str]:
    inside = [each for token in tokens(page) for each in token.children or ()]
    return [
        str(target) for each in inside if (target := each.attrs.get("href", each.attrs.get("src")))
    ]


def anchors(page: Path) -> set[str]:
    """What a link may name after the #: each heading's words, as GitHub and the site write them."""
    slugs: list[str] = []
    every = tokens(page)
    for token, after in itertools.pairwise(every):
        if token.type == "heading_open":
            words = "".join(each.content for each in after.children or ())
            slugs.append(re.sub(r"[^\w -]", "", words.lower()).replace(" ", "-"))
    again = [slugs[:place].count(slug) for place, slug in enumerate(slugs)]
    return {f"{slug}-{n}" if n else slug for slug, n in zip(slugs, again, strict=True)}


def leads_nowhere(page: Path, link: str) -> bool:
    path, _, anchor = unquote(link).partition("#")
    target = (page.parent / path).resolve() if path else page
    there = target.is_relative_to(ROOT) and target.exists()
    return not there or bool(anchor) and anchor not in anchors(target)


def test_every_link_leads_to_a_file_and_a_heading_that_are_there() -> None:
    inside = [(page, link) for page in LINKING for link in links(page) if not urlsplit(link).scheme]
    assert inside and [pair for pair in inside if leads_nowhere(*pair)] == []


def test_the_links_that_lead_out_are_those_that_somebody_has_looked_at() -> None:
    assert {link for page in LINKING for link in links(page) if urlsplit(link).scheme} == OUTSIDE


# --- commands ------------------------------------------------------------------------------------
COMMANDS = matches(r"^ *(infinite-rl .*)$")
MENTIONS = matches(r"`(infinite-rl [^`]*)`")


def test_each_command_is_read_as_it_stands() -> None:
    assert len(COMMANDS) >= 25 and len(MENTIONS) >= 20
    assert len({page for page, _ in COMMANDS}) >= 4
    for page, line in COMMANDS:
        try:
            assert read(line.removeprefix("infinite-rl ")).verb
        except SystemExit:
            pytest.fail(f"{page}: {line}")


def test_each_verb_and_option_in_a_sentence_exists(capsys: pytest.CaptureFixture[str]) -> None:
    for page, line in MENTIONS:
        words = line.split()[1:]
        verbs = list(itertools.takewhile(re.compile("[a-z][a-z-]*$").match, words))
        options = {word for word in words if word.startswith("--")}
        with pytest.raises(SystemExit, match="^0$"):
            parse([*verbs, "--help"])
        assert options <= set(re.findall(r"--\w+", capsys.readouterr().out)), (page, line)


# --- configs -------------------------------------------------------------------------------------
CONFIGURED = ["training.md", "training-at-scale.md", "jobs.md"]


def test_each_config_is_accepted(tmp_path: Path) -> None:
    for block in [each for page in CONFIGURED for each in blocks(page, "yaml")]:
        (tmp_path / launch_config.FILE).write_text(block, encoding="utf-8")
        if launch_config.FILE in block:
            assert launch_config.read(tmp_path, {}).bucket == "my-bucket"
        else:
            rows = {} if "datasets" in block else {"data": "rows.jsonl"}
            assert TrainingConfig.of({"model": "m", **rows, **yaml.safe_load(block)})


def test_the_files_of_the_pages_on_tasks_are_accepted(tmp_path: Path) -> None:
    (engine,), (conversions,) = blocks("task-engine.md", "yaml"), blocks("tasks.md", "yaml")
    (tmp_path / "engine.yaml").write_text(engine, encoding="utf-8")
    assert read(f"generate {tmp_path / 'engine.yaml'}").config().max_cost == 20
    (tmp_path / "conversions.yaml").write_text(conversions, encoding="utf-8")
    assert read_task_type(tmp_path / "conversions.yaml").name == "conversions"


def test_the_task_type_of_the_page_on_tasks_goes_all_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    reward, run = blocks("tasks.md", "python")
    (tmp_path / "sorting.py").write_text(reward, encoding="utf-8")
    exec(compile(run, "tasks.md", "exec"), {})
    commands = blocks("tasks.md", "sh")[-1].splitlines()
    assert [line.split()[1] for line in commands] == ["verify", "score", "export"]
    for line in commands:
        assert main(shlex.split(line)[1:]) == 0, line
    [(kind, count)] = Counter(row["type"] for row in read_export("words_for_trl", "trl")).items()
    assert kind in PAGES["adapters.md"] and count == 20
    rows = list(read_export("words_for_trl", "trl"))
    columns = {name: [row[name] for row in rows] for name in ("type", "answer")}
    responses = [row["response"] for row in rows]
    for own in (
        {"extra": {kind: sys.modules["sorting"].SortedWords(kind)}},
        {"rewards": "words_for_trl/rewards"},
    ):
        assert for_trl(**own)(["?"] * 20, responses, **columns) == [1.0] * 20
    _, export = blocks("environments.md", "bash")
    run_bash(export)
    assert len(list(read_export("word_tasks", "verifiers"))) == 20
    assert Path("word_tasks/word_tasks/rewards/sorting.py").read_text("utf-8") == reward


# --- Python --------------------------------------------------------------------------------------
# What a guide names that has to be downloaded or takes long, and what is here in its place.
HERE = {
    "Qwen/Qwen3-0.6B": "tiny",
    "Qwen/Qwen3-1.7B": "tiny",
    "Qwen/Qwen3-1.7B-Base": "tiny",
    "hf:openai/gsm8k:main:train": "gsm8k.jsonl",
    '["gsm8k"]': '["rows.jsonl"]',
    "--num_samples 8": "--num_samples 4",  # the mutants of a coding row take ten seconds
}


CHAT = "{% for message in messages %}{{ message.content }}{% endfor %}"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with all that the guides' code reads, which is where it runs."""
    pytest.importorskip("torch")
    from tiny_models import byte_tokenizer, qwen3

    qwen3().save_pretrained(tmp_path / "tiny")
    byte_tokenizer(chat_template=CHAT).save_pretrained(tmp_path / "tiny")
    asked = {"question": "What is 2 + 3?", "answer": "2 + 3 = 5\n#### 5"}
    (tmp_path / "gsm8k.jsonl").write_text(json.dumps(asked), encoding="utf-8")
    row = {"type": "math", "prompt": "What is 2 + 3?", "answer": "5", "response": "5"}
    lines = "".join(json.dumps({**row, "id": str(number)}) + "\n" for number in range(4))
    (tmp_path / "rows.jsonl").write_text(lines, encoding="utf-8")
    (tmp_path / "reward.py").write_text(blocks("audit.md", "python")[0], encoding="utf-8")
    recipe = yaml.safe_load((ROOT / "configs/train/gsm8k_grpo.yaml").read_text(encoding="utf-8"))
    small = {"max_steps": 1, "batch_size": 2, "group_size": 2, "max_new_tokens": 4, "device": "cpu"}
    (tmp_path / "configs/train").mkdir(parents=True)
    (tmp_path / "configs/train/gsm8k_grpo.yaml").write_text(
        yaml.safe_dump({**recipe, **small, "model": "tiny", "data": "rows.jsonl"}), encoding="utf-8"
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


# Guides whose blocks run from top to bottom. Commands that need a key, a GPU, a network or a
# trainer are in blocks of "sh", which are only read.
RUN = ["make-a-data-set.md", "judge-a-benchmark.md", "train-a-model.md"]
PYTHON = [
    *("audit.md", "datasets.md", "evaluation.md", "export.md", "measure-rows.md", "tools.md"),
    "training.md",
]


@pytest.mark.slow
@pytest.mark.parametrize("page", PYTHON)
def test_the_python_of_a_guide_runs(page: str, here: Path) -> None:
    assert blocks(page, "python")
    for block in blocks(page, "python"):
        run_python(block, page)


def run_python(block: str, page: str) -> None:
    exec(compile(with_stand_ins(block), page, "exec"), {})


def with_stand_ins(block: str) -> str:
    for named, stand_in in HERE.items():
        block = block.replace(named, stand_in)
    return block


@pytest.mark.slow(25)
@pytest.mark.parametrize("page", RUN)
def test_a_guide_runs_from_top_to_bottom(page: str, here: Path) -> None:
    for library in ("torch", "datasets", "rensa"):
        pytest.importorskip(library)
    for language, block in re.findall(r"^```(bash|python)\n(.*?)^```$", PAGES[page], re.M | re.S):
        if language == "python":
            run_python(block, page)
        else:
            run_bash(block)


@pytest.mark.slow
def test_the_exports_of_the_guide_on_environments_are_made(here: Path) -> None:
    block, _ = blocks("environments.md", "bash")
    run_bash(block)
    for path in ("my_tasks/pyproject.toml", "my_server/server.py", "harbor_tasks", "for_gym"):
        assert (here / path).exists()


def run_bash(block: str) -> None:
    """Run a block in the current folder, without a key, as in an environment that is active."""
    path = f"{sysconfig.get_path('scripts')}:{os.environ['PATH']}"
    environment = {"PATH": path, "HOME": os.environ["HOME"], "PYTHONPATH": str(ROOT)}
    command = ["bash", "-euc", with_stand_ins(block)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, block + done.stdout + done.stderr


@pytest.mark.slow
def test_the_rewards_train_in_trl_as_the_guide_says(here: Path) -> None:
    pytest.importorskip("trl")
    block = next(block for block in blocks("adapters.md", "python") if "GRPOTrainer" in block)
    (line,) = re.findall(r"^infinite-rl (export .* --to trl .*)$", PAGES["adapters.md"], re.M)
    assert main(shlex.split(line.replace("data", "rows.jsonl"))) == 0
    for named, stand_in in {
        "Qwen/Qwen3-0.6B": "tiny",
        "GRPOConfig()": "GRPOConfig('out', max_steps=1, max_completion_length=4, use_cpu=True)",
    }.items():
        assert named in block
        block = block.replace(named, stand_in)
    exec(compile(block, "adapters.md", "exec"), {})
    assert list(Path("out").glob("checkpoint-*"))
    before, (on_a_cpu,) = (
        block.rpartition("GRPOTrainer(")[0],
        [each for each in blocks("adapters.md", "python") if "use_cpu" in each],
    )
    exec(compile(before + on_a_cpu, "adapters.md", "exec"), {})
    assert list(Path("trainer_output").glob("checkpoint-2"))


def test_what_a_guide_imports_of_ours_is_there() -> None:
    trees = [ast.parse(block) for block in blocks("adapters.md", "python")]
    imports = [node for tree in trees for node in ast.walk(tree)]
    for node in (each for each in imports if isinstance(each, ast.ImportFrom)):
        if (node.module or "").startswith("infinite_rl"):
            assert {name.name for name in node.names} <= names_in(node.module or "")


def names_in(module: str) -> set[str]:
    """The names that a module defines or imports, without importing it: its host may be missing."""
    if module == "infinite_rl":
        return {*infinite_rl.__all__}
    path = ROOT / module.replace(".", "/")
    source = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    tree = ast.parse(source.read_text(encoding="utf-8"))
    kinds = (ast.FunctionDef, ast.ClassDef)
    defined = {node.name for node in tree.body if isinstance(node, kinds)}
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    return defined | {name.asname or name.name for node in imports for name in node.names}


# --- the site ------------------------------------------------------------------------------------
@pytest.mark.slow(35)
@pytest.mark.parametrize("theme", ["basic", *soak("furo")])  # to dress each page is a third of all
def test_the_pages_are_made_without_a_warning_and_have_every_public_name(
    tmp_path: Path, theme: str
) -> None:
    pytest.importorskip("sphinx")
    from sphinx.util.inventory import InventoryFile

    made = subprocess.run(
        [
            sys.executable,
            "-m",
            "sphinx",
            "-W",
            "--keep-going",
            "-q",
            "-D",
            f"html_theme={theme}",
            "docs",
            tmp_path,
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert (made.returncode, made.stderr) == (0, "")
    with (tmp_path / "objects.inv").open("rb") as file:
        inventory = InventoryFile.load(file, "", lambda base, name: name)
    there = {name for kind, names in inventory.items() if kind.startswith("py:") for name in names}
    text = (ROOT / "docs/reference/index.md").read_text(encoding="utf-8")
    named = dict(re.findall(r"`(\w+) <([\w.]+)>`", text))
    assert set(named) == set(infinite_rl.__all__) - {"__version__"}
    assert set(named.values()) <= there
