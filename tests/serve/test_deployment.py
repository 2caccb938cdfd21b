"""The container file and the unit of systemd, as far as they can be checked without either."""

import configparser
import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from commands import read

from infinite_rl.cli.serve import Serve

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "configs/serve"
IMAGE = (FOLDER / "Dockerfile").read_text(encoding="utf-8")
UNIT = (FOLDER / "infinite-rl.service").read_text(encoding="utf-8")


def unit() -> dict[str, str]:
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]  # keys keep their case
    parser.read_string(UNIT)
    return dict(parser["Service"])


def served(words: list[str]) -> Serve:
    """The config of a command line that begins with the program."""
    assert Path(words[0]).name == "infinite-rl"
    config = read(shlex.join(words[1:])).config()
    assert isinstance(config, Serve)
    return config


def test_the_container_builds_as_that_of_jobs_does_and_runs_as_nobody() -> None:
    jobs = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    stage = re.compile(r"^FROM \S+ AS wheel\n.*?^RUN [^\n]*\n", re.M | re.S)
    assert stage.findall(IMAGE) == stage.findall(jobs) != []
    assert re.search(r"^USER [1-9]\d*:[1-9]\d*$", IMAGE, re.M)
    assert "[serve]" in IMAGE and "--no-cache-dir" in IMAGE
    assert not re.search(r"^(ARG|ENV).*TOKEN", IMAGE, re.M), "no secret is in a layer"


def test_what_the_container_compiled_can_be_read_by_the_user_that_it_runs_as() -> None:
    (cache,) = re.findall(r"INFINITE_RL_CACHE=(\S+)", IMAGE)
    steps = IMAGE.partition("doctor --warm_up all")[2]
    assert f"chmod -R a+rX {cache} " in steps and steps.index("chmod") < steps.index("USER")


def test_the_container_listens_on_its_port_and_so_needs_a_token() -> None:
    (entry,) = re.findall(r"^ENTRYPOINT (.*)$", IMAGE, re.M)
    config = served(json.loads(entry))
    assert (config.host, str(config.port)) == (
        "0.0.0.0",
        re.findall(r"^EXPOSE (\d+)", IMAGE, re.M)[0],
    )
    (check,) = re.findall(r"^HEALTHCHECK .*CMD (\[.*\])$", IMAGE, re.M)
    compile(json.loads(check)[2], "health check", "exec")
    assert f":{config.port}/health" in check


def test_the_unit_starts_the_server_and_waits_longer_than_its_grace() -> None:
    values = unit()
    config = served(shlex.split(values["ExecStart"]))
    assert config.host == "127.0.0.1"
    assert int(values["TimeoutStopSec"]) > config.grace
    assert int(values["LimitNOFILE"]) > config.connections
    assert "INFINITE_RL_CACHE=%C/" + values["CacheDirectory"] == values["Environment"]
    assert values["EnvironmentFile"] in UNIT.split("[Unit]")[0], "its head says how it is made"


def test_systemd_reads_the_unit(tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    if not analyze:
        pytest.skip("systemd is not here")
    copy = tmp_path / "infinite-rl.service"
    copy.write_text(UNIT.replace("/opt/infinite-rl/bin/infinite-rl", sys.executable), "utf-8")
    done = subprocess.run([analyze, "verify", copy], capture_output=True, text=True)
    assert [line for line in done.stderr.splitlines() if copy.name in line] == []
