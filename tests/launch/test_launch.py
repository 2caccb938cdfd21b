"""Names, places, sources and requests of jobs: all that is decided before AWS is asked anything."""

from __future__ import annotations

import io
import json
import os
import random
import re
import shutil
import stat
import subprocess
import tarfile
from collections.abc import Iterator
from dataclasses import fields
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from infinite_rl.errors import StoreError, UsageError
from infinite_rl.launch import ignored, job_log, source
from infinite_rl.launch.config import SageMakerConfig, read, resolve
from infinite_rl.launch.names import check_name, default_name
from infinite_rl.launch.request import Job, create_training_job, tags
from infinite_rl.launch.source import Source, archived, listed, named
from infinite_rl.redact import redact

pytest.importorskip("yaml")
HERE = Path(__file__).parent
NOW = datetime(2026, 3, 1, 12, 30, 5, tzinfo=timezone.utc)

# Names.


@pytest.mark.parametrize(
    "name",
    ["a", "7", "A1", "a-b", "a--b", "annotations-adhoc-20260301-123005", "x" * 63]
    + ["Q" + "-9" * 31, "0-0", "run-of-2026", "UPPER-lower-1", "a" + "-" * 61 + "b"],
)
def test_a_good_name_is_taken(name: str) -> None:
    assert check_name(name) == name


@pytest.mark.parametrize(
    "name",
    ["", "-", "-a", "a-", "a_b", "a.b", "a b", "é", "a\n", "x" * 64, "a/b"]
    + ["a" + "-b" * 32],  # its pattern admits 125 characters, as each repeat may hold a hyphen
)
def test_a_bad_name_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="a job's name"):
        check_name(name)


def test_the_default_name_says_when_in_utc_and_nothing_else() -> None:
    assert default_name(NOW) == "annotations-adhoc-20260301-123005"
    east = timezone(timedelta(hours=9))
    assert default_name(NOW.astimezone(east)) == default_name(NOW)
    assert check_name(default_name(NOW))


# Places.

FILE = """\
region: eu-west-1
role: training
bucket: my-bucket
max_days: 2
environment: {HF_HOME: /tmp/hf}
"""


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("INFINITE_RL_", "AWS_")):
            monkeypatch.delenv(name)


def test_flags_come_before_variables_and_those_before_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "launch.yaml").write_text(FILE, encoding="utf-8")
    assert read(tmp_path, {}).bucket == "my-bucket"
    monkeypatch.setenv("INFINITE_RL_BUCKET", "variable")
    assert read(tmp_path, {"bucket": None}).bucket == "variable"
    assert read(tmp_path, {"bucket": "flag"}).bucket == "flag"


def test_the_file_of_the_project_comes_before_awss_own_variables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-2")
    assert resolve(read(tmp_path, {}), ["region"]).region == "us-east-2"
    (tmp_path / "launch.yaml").write_text(FILE, encoding="utf-8")
    assert resolve(read(tmp_path, {}), ["region"]).region == "eu-west-1"


@pytest.mark.parametrize("key", ["region", "role", "bucket"])
def test_what_is_missing_is_named_with_each_way_to_give_it(tmp_path: Path, key: str) -> None:
    given = {"region": "eu-west-1", "role": "r", "bucket": "bucket", "account": "1" * 12}
    del given[key]
    with pytest.raises(UsageError) as error:
        resolve(read(tmp_path, given), ["region", "role", "bucket", "account"])
    told = str(error.value)
    assert f"the {key} is missing" in told
    for way in (f"--{key}", f"INFINITE_RL_{key.upper()}", f"`{key}:` in launch.yaml"):
        assert way in told
    assert told.count("is missing") == 1


def test_all_that_is_missing_is_named_at_once(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="region is missing.*role is missing.*bucket is missing"):
        resolve(read(tmp_path, {}), ["region", "role", "bucket", "account"])


def test_the_account_is_the_roles_or_that_of_the_credentials(tmp_path: Path) -> None:
    needed = ["region", "account"]
    place = SageMakerConfig(region="eu-west-1", role="arn:aws:iam::123456789012:role/deep/training")
    assert resolve(place, needed).account == "123456789012"
    place = SageMakerConfig(region="eu-west-1", role="training")
    found = resolve(place, needed, account=lambda _: "210987654321")
    assert found.role_arn == "arn:aws:iam::210987654321:role/training"
    with pytest.raises(UsageError, match="account is missing.*--account.*STS"):
        resolve(place, needed)


@pytest.mark.parametrize(
    ("region", "arn", "registry"),
    [
        ("eu-west-1", "arn:aws:", "amazonaws.com"),
        ("cn-north-1", "arn:aws-cn:", "amazonaws.com.cn"),
        ("us-gov-west-1", "arn:aws-us-gov:", "amazonaws.com"),
    ],
)
def test_each_part_of_aws_has_its_own_addresses(region: str, arn: str, registry: str) -> None:
    place = SageMakerConfig(region=region, account="1" * 12, role="r")
    assert place.role_arn.startswith(arn)
    assert place.registry == f"{'1' * 12}.dkr.ecr.{region}.{registry}"


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"region": "Europe"}, "region must be such as eu-west-1"),
        ({"account": "12"}, "account must be"),
        ({"bucket": "My_Bucket"}, "bucket must be"),
        ({"bucket": "s3://bucket"}, "bucket must be"),
        ({"role": "a b"}, "role must be"),
        ({"prefix": "/a/"}, "prefix must be"),
        ({"prefix": "a/../b"}, "prefix must be"),
        ({"account": "12345678901\u0662"}, "account must be"),
        ({"environment": {"A": "x\0"}}, "environment.A cannot be"),
        ({"instance_type": "p4de.24xlarge"}, "instance_type must be such as ml.p4de"),
        ({"instance_count": 0}, "instance_count must be in"),
        ({"instance_count": "two"}, "instance_count must be a whole number"),
        ({"max_days": 29}, "max_days must be in"),
        ({"environment": {"A": 1}}, "environment.A must be a text"),
        ({"environment": {"A-B": "1"}}, "environment cannot hold the name 'A-B'"),
        ({"environment": {"A": "x" * 513}}, "environment.A cannot be"),
        ({"tags": {"a": "<b>"}}, "tags.a cannot be"),
        ({"inputs": {"rows": "https://x"}}, "inputs.rows cannot be"),
        ({"inputs": {"source": "s3://b/c"}}, "inputs.source: every job has"),
        ({"subnets": ["subnet-1"]}, "subnets and security_groups go together"),
    ],
)
def test_what_the_service_would_refuse_is_refused_here(values: Any, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        SageMakerConfig(**values)


def test_a_secret_of_the_environment_is_not_in_the_error() -> None:
    with pytest.raises(UsageError) as error:
        SageMakerConfig(environment={"HF_TOKEN": "hf_" + "x" * 600})
    assert "hf_x" not in str(error.value)


def test_an_unknown_key_of_the_file_is_named_with_its_file(tmp_path: Path) -> None:
    (tmp_path / "launch.yaml").write_text("buket: a-bucket\n", encoding="utf-8")
    with pytest.raises(UsageError, match="launch.yaml: unknown key 'buket'; did you mean bucket"):
        read(tmp_path, {})
    with pytest.raises(UsageError, match="there is no such file"):
        read(tmp_path, {}, tmp_path / "nowhere.yaml")


def test_every_key_of_a_place_is_explained() -> None:
    assert set(SageMakerConfig.explained()) == {each.name for each in fields(SageMakerConfig)}


def test_the_page_names_each_key_and_its_default() -> None:
    page = (HERE.parents[1] / "docs" / "training-at-scale.md").read_text(encoding="utf-8")
    said = page.split("\n## Launch\n")[1].split("\n## ")[0]
    rows = "".join(re.findall(r"^\| (`.*?) \|", said.split("| key of `launch.yaml`")[1], re.M)[:6])
    assert set(re.findall(r"`(\w+)`", rows)) == set(SageMakerConfig.kinds())
    assert "(`ml.p4de.24xlarge`, 1), their disks (200)" in said and "stopped (5)" in said
    example = re.findall(r"```yaml\n(.*?)```", said, re.S)[0]
    import yaml

    assert (
        SageMakerConfig.of(yaml.safe_load(example)).instance_type == SageMakerConfig.instance_type
    )


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


@pytest.fixture(params=["a repository", "no repository", "no git"])
def any_folder(
    request: pytest.FixtureRequest, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    if request.param == "a repository":
        git(folder, "init", "-q")
        git(folder, "add", "-f", "train.py", ".env")
    elif request.param == "no git":
        monkeypatch.setattr(shutil, "which", lambda name: None)
    return folder


SENT = [".env.example", ".gitignore", "configs/a.yaml", "kept.log", "run.sh", "train.py"]


def members(found: Source) -> list[tarfile.TarInfo]:
    with tarfile.open(found.path) as archive:
        return archive.getmembers()


def test_what_git_ignores_and_secrets_stay_here(any_folder: Path) -> None:
    with archived(any_folder) as found:
        assert [each.name for each in members(found)] == SENT
        assert set(found.held_back) == {".env", "keys/server.pem", ".aws/credentials"}
        assert set(found.held_back.values()) == {"it looks like a secret"}
        assert found.files == len(SENT) and found.size == found.path.stat().st_size
    assert not found.path.exists()


def test_what_is_named_is_sent_though_git_ignores_it(any_folder: Path) -> None:
    with archived(any_folder, [Path("artifacts/rows.jsonl")]) as found:
        assert [each.name for each in members(found)] == sorted([*SENT, "artifacts/rows.jsonl"])
    with archived(any_folder, [Path("artifacts")]) as found:
        assert "artifacts/other.bin" in [each.name for each in members(found)]


SECRETS = [
    *(".envrc", "prod.env", "secrets/x.txt", "rootkey.csv", "me_accessKeys.csv", "kaggle.json"),
    *(".huggingface/token", "hf_token.txt", "aws_credentials", "my-credentials.json", "x.ppk"),
    *(".pgpass", "terraform.tfvars", "api_keys.json", ".bash_history", "OPENAI_API_KEY.txt"),
]


@pytest.mark.parametrize("name", SECRETS)
def test_what_looks_like_a_secret_stays_here(folder: Path, name: str) -> None:
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text("s3cret", encoding="utf-8")
    with archived(folder) as found:
        assert [each.name for each in members(found)] == SENT
        assert found.held_back[name] == "it looks like a secret"


@pytest.mark.parametrize(
    "name",
    ["tokenizer.json", "special_tokens_map.json", "added_tokens.json", "token.py", "keys.py"],
)
def test_what_a_model_or_a_program_needs_is_no_secret(folder: Path, name: str) -> None:
    (folder / name).write_text("{}", encoding="utf-8")
    with archived(folder) as found:
        assert name in [each.name for each in members(found)]


def test_a_folder_that_is_named_takes_no_secret_with_it(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "id_rsa").write_text("s3cret", encoding="utf-8")
    (folder / "artifacts" / "weights.bin").symlink_to(tmp_path / "id_rsa")
    (folder / "artifacts" / ".env").write_text("s3cret", encoding="utf-8")
    (folder / "launch.yaml").write_text("environment: {}", encoding="utf-8")
    (folder / ".git").mkdir()
    (folder / ".git" / "config").write_text("url = https://me:s3cret@x", encoding="utf-8")
    for name in (".", "artifacts"):
        with archived(folder, [Path(name)], [folder / "launch.yaml"]) as found:
            sent = {each.name for each in members(found)}
        assert "artifacts/other.bin" in sent and {"artifacts/.env", ".env"} <= set(found.held_back)
        assert not sent & {"launch.yaml", ".git/config", "keys/server.pem", *found.held_back}
        assert "artifacts/weights.bin" in found.held_back
    with archived(folder, [Path("artifacts/.env")]) as found:
        assert "artifacts/.env" in [each.name for each in members(found)]


def test_a_named_link_is_sent_as_the_file_that_it_leads_to(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "big.jsonl").write_text("{}\n", encoding="utf-8")
    (folder / "rows.jsonl").symlink_to(tmp_path / "big.jsonl")
    with archived(folder) as found:
        assert found.held_back["rows.jsonl"] == "it is a link out of the folder"
    with archived(folder, [Path("rows.jsonl")]) as found:
        (entry,) = [each for each in members(found) if each.name == "rows.jsonl"]
        assert entry.isfile() and entry.size == 3 and "rows.jsonl" not in found.held_back


def test_a_line_more_in_the_job_log_makes_no_other_source(folder: Path) -> None:
    with archived(folder) as before:
        pass
    job_log.append(folder, job_log.row(NOW, ("job", "", "", "", "", "")))
    with archived(folder) as found:
        assert found.digest == before.digest and found.held_back == before.held_back


@pytest.mark.parametrize("path", ["../elsewhere", "/etc/hostname", "artifacts/../../elsewhere"])
def test_what_would_not_be_there_in_a_job_cannot_be_named(folder: Path, path: str) -> None:
    with (
        pytest.raises(UsageError, match="would not be there in a job"),
        archived(folder, [Path(path)]),
    ):
        pass


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
    (other / "train.py").write_text("print(2)\n", encoding="utf-8")
    with archived(other) as two:
        assert one.digest != two.digest


def test_a_file_that_may_be_executed_still_may(folder: Path) -> None:
    with archived(folder) as found:
        modes = {each.name: stat.S_IMODE(each.mode) for each in members(found)}
    assert modes["run.sh"] == 0o755 and modes["train.py"] == 0o644


def test_links_within_the_folder_stay_links_and_an_archive_can_be_unpacked(
    folder: Path, tmp_path: Path
) -> None:
    (folder / "latest").symlink_to("configs")
    with archived(folder) as found, tarfile.open(found.path) as archive:
        (link,) = [each for each in archive if each.issym()]
        assert (link.name, link.linkname) == ("latest", "configs")
        archive.extractall(tmp_path / "out", filter="data")
    assert (tmp_path / "out" / "latest" / "a.yaml").read_text(encoding="utf-8") == "model: m\n"


def test_a_file_that_git_knows_and_that_is_gone_is_not_missed(folder: Path) -> None:
    git(folder, "init", "-q")
    git(folder, "add", "train.py")
    (folder / "train.py").unlink()
    with archived(folder) as found:
        assert "train.py" not in [each.name for each in members(found)]


def test_a_repository_inside_is_sent_by_its_own_rules(folder: Path) -> None:
    git(folder, "init", "-q")
    inner = folder / "vendor"
    inner.mkdir()
    (inner / "lib.py").write_text("", encoding="utf-8")
    (inner / "x.tmp").write_text("", encoding="utf-8")
    (inner / ".gitignore").write_text("*.tmp\n", encoding="utf-8")
    git(inner, "init", "-q")
    with archived(folder) as found:
        names = [each.name for each in members(found)]
    assert "vendor/lib.py" in names and "vendor/x.tmp" not in names
    assert not [name for name in names if ".git/" in name]


def test_names_may_be_anything(folder: Path) -> None:
    for name in ("a b", "ü", "line\nbreak", "-x", "tab\t"):
        (folder / name).write_text("", encoding="utf-8")
    with archived(folder) as found:
        assert {each.name for each in members(found)} >= {"a b", "ü", "line\nbreak", "-x", "tab\t"}


def test_an_empty_folder_is_nothing_to_send(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nothing to send"), archived(tmp_path):
        pass


def test_a_folder_that_cannot_be_archived_is_said_in_one_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(source, "_add", full)
    with pytest.raises(StoreError, match="cannot archive .*: No space left"), archived(folder):
        pass


def test_what_a_config_names_is_found(folder: Path) -> None:
    values = {
        "model": "configs",
        "data": "artifacts/rows.jsonl",
        "out": "artifacts",
        "style": "keys",
        "datasets": [
            {"name": "configs", "path": "train.py", "order": "kept.log"},
            {"path": "s3://a/b"},
        ],
        "tasks": ["gsm8k", "mine=run.sh", "configs/a.yaml"],
    }
    found = {str(path) for path in named(values, folder)}
    assert found == {
        *("configs", "artifacts/rows.jsonl", "train.py", "kept.log", "run.sh", "configs/a.yaml")
    }


# .gitignore without git: the same answers as git's.

PATTERNS = [
    *("*.log", "/a", "a/", "b/**", "**/c", "a/**/d", "!keep", "[ab]x", "[!a]y", "#no", "\\#yes"),
    *("a*b", "?c", "sub/a", "/sub/*", "!/sub/a", "d ", "e\\ ", "**", "a**b", "[a-", "x/y/", "!x"),
    *("*", "!*/", "**/", "[[:digit:]]", "[]a]", "\\!b", "sub/**/x", "/**/a", "c/*", "!c/d"),
    *("*a*", "**/b/**/d", "a/**/**/c", "?*.*g", "*/*/x", "[a-c]*[!b]", "**/*a*/**"),
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


@pytest.mark.parametrize("seed", range(25))
def test_gitignore_files_mean_what_they_mean_to_git(tmp_path: Path, seed: int) -> None:
    tree(random.Random(seed), tmp_path)
    assert sorted(ignored.kept(tmp_path)) == listed(tmp_path)


@pytest.mark.parametrize("pattern", ["*a" * 60, "**/a*/" * 60 + "b", "a/**/*" * 60])
def test_a_pattern_of_many_stars_takes_no_time(pattern: str) -> None:
    path = "/".join(["a" * 60] * 60)
    assert [rule.regex.fullmatch(path) for rule in ignored.rules(f"{pattern}b")] == [None]


# Requests.

PLACE = SageMakerConfig(
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


def test_a_request_is_the_same_bytes_each_time() -> None:
    shown = json.dumps(redact(create_training_job(JOB, PLACE)), indent=2, sort_keys=True) + "\n"
    assert shown == (HERE / "launch_request.json").read_text(encoding="utf-8")


def test_a_secret_of_the_environment_is_sent_but_not_shown() -> None:
    request = create_training_job(JOB, PLACE)
    assert request["Environment"]["HF_TOKEN"] == "hf_abcdefghijklmnopqrstuvwxyz"
    assert "hf_abc" not in json.dumps(redact(request))


def test_the_defaults_are_those_that_are_documented() -> None:
    place = SageMakerConfig(region="eu-west-1", account="1" * 12, role="r", bucket="bucket")
    request = create_training_job(Job("a", IMAGE, "0"), place)
    assert request["ResourceConfig"]["InstanceType"] == "ml.p4de.24xlarge"
    assert request["ResourceConfig"]["InstanceCount"] == 1
    assert request["StoppingCondition"]["MaxRuntimeInSeconds"] == 5 * 24 * 60 * 60
    assert request["HyperParameters"]["checkpoint_uri"].endswith("/checkpoints/a/")
    assert "eval_config" not in request["HyperParameters"] and "VpcConfig" not in request
    assert tags(place) == {"application": "infinite-rl"}


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
    request = create_training_job(JOB, PLACE)
    assert not ParamValidator().validate(request, shape).has_errors()
    assert list(violations(shape, request)) == []
    assert list(violations(shape, {**request, "TrainingJobName": "a_b"}))  # it does look


def test_the_rule_for_names_is_the_services_own() -> None:
    from infinite_rl.launch import names

    shape = sagemaker("CreateTrainingJob").input_shape.members["TrainingJobName"]
    pattern = shape.metadata["pattern"]  # older models of the service leave its first sign out
    assert names._NAME.pattern.removeprefix("^") == pattern.removeprefix("^")
    assert shape.metadata["max"] == 63


def test_nothing_of_an_account_is_written_into_the_package() -> None:
    for path in sorted((HERE.parents[1] / "infinite_rl" / "launch").glob("*.py")):
        text = path.read_text(encoding="utf-8")
        assert set(re.findall(r"\b\d{12}\b", text)) <= {"123456789012"}, path  # an example's
        assert io.StringIO(text).getvalue().count("123456789012") <= 1, path
