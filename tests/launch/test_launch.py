"""Configs, names, sources and requests of jobs: everything that is decided before AWS is called."""

import json
import os
import random
import re
import shutil
import stat
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from dataclasses import fields
from datetime import datetime, timedelta, timezone
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from labelled import Tables, assert_none, unlike

from infinite_rl.errors import UsageError
from infinite_rl.launch import job_log, request, source
from infinite_rl.launch.config import SageMakerConfig, read, resolve
from infinite_rl.launch.request import Job, check_name, create_training_job, default_name, tags
from infinite_rl.launch.source import Source, archived, listed, named_paths
from infinite_rl.redact import redact

pytest.importorskip("yaml")
HERE = Path(__file__).parent
tables = Tables(__file__)
NOW = datetime(2026, 3, 1, 12, 30, 5, tzinfo=timezone.utc)


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("INFINITE_RL_", "AWS_")):
            monkeypatch.delenv(name)


# Names.
def test_a_name_is_checked_as_the_service_checks_it() -> None:
    good = ["a", "7", "A1", "a-b", "a--b", "annotations-adhoc-20260301-123005", "x" * 63]
    good += ["Q" + "-9" * 31, "0-0", "run-of-2026", "UPPER-lower-1", "a" + "-" * 61 + "b"]
    bad = ["", "-", "-a", "a-", "a_b", "a.b", "a b", "é", "a\n", "x" * 64, "a/b"]
    bad += ["a" + "-b" * 32]  # the pattern admits 125 characters, as each repeat may hold a hyphen
    assert [check_name(name) for name in good] == good
    assert_none(unlike(("UsageError: a job's name", partial(check_name, name)) for name in bad))
    east = timezone(timedelta(hours=9))
    assert default_name(NOW) == default_name(NOW.astimezone(east)) == good[5]
    shape = sagemaker("CreateTrainingJob").input_shape.members["TrainingJobName"]
    pattern = shape.metadata["pattern"]  # older models of the service omit its first sign
    assert request._NAME.pattern.removeprefix("^") == pattern.removeprefix("^")
    assert shape.metadata["max"] == 63


# Configs.
FILE = """\
region: eu-west-1
role: training
bucket: my-bucket
max_days: 2
environment: {HF_HOME: /tmp/hf}
"""


def test_flags_beat_variables_file_and_aws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-2")
    assert resolve(read(tmp_path, {}), ["region"]).region == "us-east-2"
    (tmp_path / "launch.yaml").write_text(FILE, encoding="utf-8")
    assert resolve(read(tmp_path, {}), ["region"]).region == "eu-west-1"
    assert read(tmp_path, {}).bucket == "my-bucket"
    monkeypatch.setenv("INFINITE_RL_BUCKET", "variable")
    assert read(tmp_path, {"bucket": None}).bucket == "variable"
    assert read(tmp_path, {"bucket": "flag"}).bucket == "flag"


def test_a_missing_key_is_named_with_each_way_to_set_it(tmp_path: Path) -> None:
    needed = ["region", "role", "bucket", "account"]
    values = {"region": "eu-west-1", "role": "r", "bucket": "bucket", "account": "1" * 12}
    faults = []
    for key in needed[:3]:
        rest = {name: value for name, value in values.items() if name != key}
        ways = f"--{key}.*INFINITE_RL_{key.upper()}.*`{key}:` in launch.yaml"
        said = f"UsageError: the {key} is missing.*{ways}(?!.*is missing)"
        faults += unlike([(said, partial(resolve, read(tmp_path, rest), needed))])
    said = "region is missing.*role is missing.*bucket is missing"
    assert_none(faults + unlike([(said, lambda: resolve(read(tmp_path, {}), needed))]))


def test_the_account_is_the_roles_or_that_of_the_credentials() -> None:
    needed = ["region", "account"]
    arn = "arn:aws:iam::123456789012:role/deep/training"
    assert resolve(SageMakerConfig("eu-west-1", role=arn), needed).account == "123456789012"
    config = SageMakerConfig(region="eu-west-1", role="training")
    resolved = resolve(config, needed, account=lambda _: "210987654321")
    assert resolved.role_arn == "arn:aws:iam::210987654321:role/training"
    with pytest.raises(UsageError, match="account is missing.*--account.*STS"):
        resolve(config, needed)
    for region, partition, registry in (  # of AWS
        ("eu-west-1", "arn:aws:", "amazonaws.com"),
        ("cn-north-1", "arn:aws-cn:", "amazonaws.com.cn"),
        ("us-gov-west-1", "arn:aws-us-gov:", "amazonaws.com"),
    ):
        config = SageMakerConfig(region=region, account="1" * 12, role="r")
        assert config.role_arn.startswith(partition)
        assert config.registry == f"{'1' * 12}.dkr.ecr.{region}.{registry}"


@tables
def test_what_the_service_would_refuse_is_refused_here(values: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=f"^.*{said}.*$"):
        SageMakerConfig.of(values)


def test_a_file_with_a_misspelt_key_and_one_that_is_missing_are_refused(tmp_path: Path) -> None:
    (tmp_path / "launch.yaml").write_text("buket: a-bucket\n", encoding="utf-8")
    typo = "launch.yaml: unknown key 'buket'; did you mean bucket"
    calls = [(typo, lambda: read(tmp_path, {}))]
    calls += [("there is no such file", lambda: read(tmp_path, {}, tmp_path / "nowhere.yaml"))]
    assert_none(unlike(calls))


def test_the_guide_names_each_key_and_its_default() -> None:
    assert set(SageMakerConfig.explained()) == {each.name for each in fields(SageMakerConfig)}
    page = (HERE.parents[1] / "docs" / "jobs.md").read_text(encoding="utf-8")
    text = page.split("\n## Launch\n")[1].split("\n## ")[0]
    rows = "".join(re.findall(r"^\| (`.*?) \|", text.split("| key of `launch.yaml`")[1], re.M)[:6])
    assert set(re.findall(r"`(\w+)`", rows)) == set(SageMakerConfig.explained())
    assert "(`ml.p4de.24xlarge`, 1), their disks (200)" in text and "stopped (5)" in text
    example = re.findall(r"```yaml\n(.*?)```", text, re.S)[0]
    import yaml

    shown = SageMakerConfig.of(yaml.safe_load(example))
    assert shown.instance_type == SageMakerConfig.instance_type


# Sources.
@pytest.fixture
def folder(tmp_path: Path) -> Path:
    here = tmp_path / "project"
    for name, text in {
        "train.py": "print(1)\n",
        "configs/a.yaml": "model: m\n",
        ".gitignore": "artifacts/\n*.log\n!kept.log\n",
        "artifacts/rows.jsonl": "{}\n",
        "artifacts/other.bin": "x" * 100,
        "run.log": "no\n",
        "kept.log": "yes\n",
        ".env": "KEY=1\n",
        ".env.example": "KEY=\n",
        "keys/server.pem": "no\n",
        ".aws/credentials": "no\n",
    }.items():
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        (here / name).write_text(text, encoding="utf-8")
    (here / "run.sh").write_text("#!/bin/sh\n", encoding="utf-8")
    (here / "run.sh").chmod(0o755)
    return here


def git(folder: Path, *words: str) -> None:
    who = ("-c", "user.name=a", "-c", "user.email=a@b.c")
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


SENT = [".env.example", ".gitignore", "configs/a.yaml", "kept.log", "run.sh", "train.py"]
SECRET = "it looks like a secret"


def members(archive: Source) -> list[tarfile.TarInfo]:
    with tarfile.open(archive.path) as opened:
        return opened.getmembers()


def names(folder: Path, *args: Any) -> list[str]:
    with archived(folder, *args) as sent:
        return [each.name for each in members(sent)]


@pytest.mark.parametrize("where", ["a repository", "no repository", "no git"])
def test_only_wanted_files_go(folder: Path, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    if where == "a repository":
        git(folder, "init", "-q")
        git(folder, "add", "-f", "train.py", ".env")
    elif where == "no git":
        monkeypatch.setattr(shutil, "which", lambda name: None)
    with archived(folder) as sent:
        assert [each.name for each in members(sent)] == SENT
        assert set(sent.held_back) == {".env", "keys/server.pem", ".aws/credentials"}
        assert set(sent.held_back.values()) == {SECRET}
        assert sent.files == len(SENT) and sent.size == sent.path.stat().st_size
    assert not sent.path.exists()
    assert names(folder, [Path("artifacts/rows.jsonl")]) == sorted([*SENT, "artifacts/rows.jsonl"])
    assert "artifacts/other.bin" in names(folder, [Path("artifacts")])


def test_a_file_is_a_secret_by_its_name(folder: Path) -> None:
    secrets = [
        *(".envrc", "prod.env", "secrets/x.txt", "rootkey.csv", "me_accessKeys.csv", "x.ppk"),
        *(".huggingface/token", "hf_token.txt", "aws_credentials", "my-credentials.json"),
        *(".pgpass", "terraform.tfvars", "api_keys.json", ".bash_history", "OPENAI_API_KEY.txt"),
        "kaggle.json",
    ]
    needed = ["tokenizer.json", "special_tokens_map.json", "added_tokens.json", "token.py"]
    needed += ["keys.py"]
    for name in [*secrets, *needed]:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("s3cret", encoding="utf-8")
    with archived(folder) as sent:
        assert [each.name for each in members(sent)] == sorted([*SENT, *needed])
        assert {name: sent.held_back.get(name) for name in secrets} == dict.fromkeys(
            secrets, SECRET
        )


def test_a_folder_that_is_named_takes_no_secret_with_it(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "id_rsa").write_text("s3cret", encoding="utf-8")
    (folder / "artifacts" / "weights.bin").symlink_to(tmp_path / "id_rsa")
    (folder / "artifacts" / ".env").write_text("s3cret", encoding="utf-8")
    (folder / "launch.yaml").write_text("environment: {}", encoding="utf-8")
    (folder / ".git").mkdir()
    (folder / ".git" / "config").write_text("url = https://me:s3cret@x", encoding="utf-8")
    for name in (".", "artifacts"):
        with archived(folder, [Path(name)], [folder / "launch.yaml"]) as archive:
            sent = {each.name for each in members(archive)}
        assert "artifacts/other.bin" in sent and {"artifacts/.env", ".env"} <= set(
            archive.held_back
        )
        assert not sent & {"launch.yaml", ".git/config", "keys/server.pem", *archive.held_back}
        assert "artifacts/weights.bin" in archive.held_back
    assert "artifacts/.env" in names(folder, [Path("artifacts/.env")])


def test_a_link_stays_a_link_and_is_its_target_if_named(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "big.jsonl").write_text("{}\n", encoding="utf-8")
    (folder / "rows.jsonl").symlink_to(tmp_path / "big.jsonl")
    (folder / "latest").symlink_to("configs")
    with archived(folder) as sent, tarfile.open(sent.path) as archive:
        assert sent.held_back["rows.jsonl"] == "it is a link out of the folder"
        (link,) = [each for each in archive if each.issym()]
        assert (link.name, link.linkname) == ("latest", "configs")
        archive.extractall(tmp_path / "out", filter="data")
    assert (tmp_path / "out" / "latest" / "a.yaml").read_text(encoding="utf-8") == "model: m\n"
    with archived(folder, [Path("rows.jsonl")]) as sent:
        (entry,) = [each for each in members(sent) if each.name == "rows.jsonl"]
        assert entry.isfile() and entry.size == 3 and "rows.jsonl" not in sent.held_back


def test_what_cannot_be_sent_is_said_in_one_line(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty").mkdir()
    outside = ["../elsewhere", "/etc/hostname", "artifacts/../../elsewhere"]
    said = "UsageError: .* would not exist in a job"
    faults = unlike((said, partial(names, folder, [Path(path)])) for path in outside)
    faults += unlike([("UsageError: there is nothing to send", lambda: names(tmp_path / "empty"))])

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(source, "_add", full)
    assert_none(faults + unlike([("cannot archive .*: No space left", lambda: names(folder))]))


def test_the_same_files_give_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "copy"
    shutil.copytree(folder, other)
    for number, path in enumerate(sorted(other.rglob("*"))):
        os.utime(path, (number, number))
    (other / "train.py").chmod(0o600)
    with archived(folder) as one, archived(other) as two:
        assert one.path.read_bytes() == two.path.read_bytes() and one.digest == two.digest
        entries = members(one)
    assert {(each.mtime, each.uid, each.gid, each.uname, each.gname) for each in entries} == {
        (0, 0, 0, "", "")
    }
    modes = {each.name: stat.S_IMODE(each.mode) for each in entries}
    assert modes["run.sh"] == 0o755 and modes["train.py"] == 0o644
    job_log.append(folder, job_log.row(NOW, ("job", "", "", "", "", "")))
    with archived(folder) as again:  # the job log is no part of it
        assert again.digest == one.digest and again.held_back == one.held_back
    (other / "train.py").write_text("print(2)\n", encoding="utf-8")
    with archived(other) as two:
        assert one.digest != two.digest


def test_git_may_track_missing_files_nested_repositories_and_any_name(folder: Path) -> None:
    odd = {"a b", "ü", "line\nbreak", "-x", "tab\t"}
    for name in odd:
        (folder / name).write_text("", encoding="utf-8")
    git(folder, "init", "-q")
    git(folder, "add", "train.py")
    (folder / "train.py").unlink()
    inner = folder / "vendor"
    inner.mkdir()
    (inner / "lib.py").write_text("", encoding="utf-8")
    (inner / "x.tmp").write_text("", encoding="utf-8")
    (inner / ".gitignore").write_text("*.tmp\n", encoding="utf-8")
    git(inner, "init", "-q")
    sent = set(names(folder))
    assert sent >= {"vendor/lib.py", *odd} and not sent & {"train.py", "vendor/x.tmp"}
    assert not [name for name in sent if ".git/" in name]


def test_the_paths_that_a_config_names_are_listed(folder: Path) -> None:
    values = {
        "model": "configs",
        "data": "artifacts/rows.jsonl",
        "out": "artifacts",
        "prompt_template": "keys",
        "datasets": [
            {"name": "configs", "path": "train.py", "order": "kept.log"},
            {"path": "s3://a/b"},
        ],
        "tasks": ["gsm8k", "mine=run.sh", "configs/a.yaml"],
    }
    assert {str(path) for path in named_paths(values, folder)} == {
        *("configs", "artifacts/rows.jsonl", "train.py", "kept.log", "run.sh", "configs/a.yaml")
    }


# .gitignore without git: the same answers as git's.
PATTERNS = [
    *("*.log", "/a", "a/", "b/**", "**/c", "a/**/d", "!keep", "[ab]x", "[!a]y", "#no", "\\#yes"),
    *("a*b", "?c", "sub/a", "/sub/*", "!/sub/a", "d ", "e\\ ", "**", "a**b", "[a-", "x/y/", "!x"),
    *("*", "!*/", "**/", "[[:digit:]]", "[]a]", "\\!b", "sub/**/x", "/**/a", "c/*", "!c/d"),
    *("*a*", "**/b/**/d", "a/**/**/c", "?*.*g", "*/*/x", "[a-c]*[b-d]", "**/*a*/**", "\\", "!"),
]
PARTS = ["a", "b", "c", "d", "ax", "ay", "sub", "keep", "x", "y", "a.log", "#yes", "ab", "1", "]"]


def tree(draw: random.Random, root: Path) -> None:
    for _ in range(25):
        path = root.joinpath(*draw.choices(PARTS, k=draw.randint(1, 4)))
        if not any(parent.is_file() for parent in path.parents) and not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("", encoding="utf-8")
    folders = [root, *(path for path in root.rglob("*") if path.is_dir())]
    for folder in draw.sample(folders, min(2, len(folders))):
        text = "\n".join(draw.choices(PATTERNS, k=draw.randint(1, 5)))
        (folder / ".gitignore").write_text(f"{text}\n", encoding="utf-8")


@pytest.mark.filterwarnings("ignore:Possible nested set")
def test_gitignore_works_without_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trees = [tmp_path / str(seed) for seed in range(25)]
    for seed, root in enumerate(trees):
        root.mkdir()
        tree(random.Random(seed), root)
    by_git = list(map(listed, trees))
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "pathspec", None)
        with pytest.raises(
            UsageError, match=r"git, or pathspec: pip install 'infinite-rl\[aws\]'$"
        ):
            listed(tmp_path)
    pairs = zip(trees, by_git, strict=True)
    assert_none(set(listed(root)) ^ set(found) for root, found in pairs if listed(root) != found)


# Requests.
CONFIG = SageMakerConfig(
    region="eu-west-1",
    account="123456789012",
    role="training",
    bucket="my-bucket",
    environment={"HF_HOME": "/tmp/hf", "HF_TOKEN": "hf_abcdefghijklmnopqrstuvwxyz"},
    inputs={"models": "s3://my-bucket/models/"},
    tags={"team": "rl"},
    subnets=("subnet-1", "subnet-2"),
    security_groups=("sg-1",),
)
IMAGE = "123456789012.dkr.ecr.eu-west-1.amazonaws.com/infinite-rl:1.0"
JOB = Job("annotations-adhoc-20260301-123005", IMAGE, "0" * 32, evaluated=True)


def test_a_request_is_the_same_bytes_each_time_and_shows_no_secret() -> None:
    request = create_training_job(JOB, CONFIG)
    shown = json.dumps(redact(request), indent=2, sort_keys=True) + "\n"
    assert shown == (HERE / "launch_request.json").read_text(encoding="utf-8")
    assert request["Environment"]["HF_TOKEN"] == "hf_abcdefghijklmnopqrstuvwxyz"
    assert "hf_abc" not in shown


def test_the_defaults_are_those_that_are_documented() -> None:
    config = SageMakerConfig(region="eu-west-1", account="1" * 12, role="r", bucket="bucket")
    request = create_training_job(Job("a", IMAGE, "0"), config)
    assert request["ResourceConfig"]["InstanceType"] == "ml.p4de.24xlarge"
    assert request["ResourceConfig"]["InstanceCount"] == 1
    assert request["StoppingCondition"]["MaxRuntimeInSeconds"] == 5 * 24 * 60 * 60
    assert request["HyperParameters"]["checkpoint_uri"].endswith("/checkpoints/a/")
    assert "eval_config" not in request["HyperParameters"] and "VpcConfig" not in request
    assert tags(config) == {"application": "infinite-rl"}


def violations(shape: Any, value: Any, at: str = "") -> Iterator[str]:
    """What of a request the service's own model does not admit; boto3 checks types alone."""
    limits, kind = shape.metadata, shape.type_name
    if kind in ("string", "list", "map") and not (
        limits.get("min", 0) <= len(value) <= limits.get("max", 10**9)
    ):
        yield f"{at}: length {len(value)}"
    if kind == "integer" and not limits.get("min", 0) <= value <= limits.get("max", 10**9):
        yield f"{at}: {value}"
    if kind == "string":
        pattern = limits.get("pattern", ".*").replace("\\p{L}\\p{Z}\\p{N}_", "\\w ")
        if not re.fullmatch(pattern, value):
            yield f"{at}: {value!r} against {pattern}"
        if shape.enum and value not in shape.enum:
            yield f"{at}: {value!r} is none of the known"
    for name, inner in value.items() if kind == "structure" else ():
        yield from violations(shape.members[name], inner, f"{at}.{name}")
    for number, inner in enumerate(value) if kind == "list" else ():
        yield from violations(shape.member, inner, f"{at}[{number}]")
    for name, inner in value.items() if kind == "map" else ():
        yield from violations(shape.key, name, f"{at} key")
        yield from violations(shape.value, inner, f"{at}.{name}")


def sagemaker(operation: str) -> Any:
    session = pytest.importorskip("botocore.session")
    return session.get_session().get_service_model("sagemaker").operation_model(operation)


def test_a_request_is_what_the_services_own_model_admits() -> None:
    from botocore.validate import ParamValidator

    shape = sagemaker("CreateTrainingJob").input_shape
    request = create_training_job(JOB, CONFIG)
    assert not ParamValidator().validate(request, shape).has_errors()
    assert list(violations(shape, request)) == []
    assert list(violations(shape, {**request, "TrainingJobName": "a_b"}))  # it does look


def test_nothing_of_an_account_is_written_into_the_package() -> None:
    for path in sorted((HERE.parents[1] / "infinite_rl" / "launch").glob("*.py")):
        text = path.read_text(encoding="utf-8")
        assert set(re.findall(r"\b\d{12}\b", text)) <= {"123456789012"}, path  # an example's
        assert text.count("123456789012") <= 1, path
