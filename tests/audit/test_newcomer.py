"""A newcomer audits the README's example of a reward by its commands, and reads one page."""

import os
import re
import subprocess
import sysconfig
from html import unescape
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_the_commands_of_the_readme_write_the_page_that_it_promises(tmp_path: Path) -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    section = readme.partition("## Audit a reward of your own")[2].partition("\n## ")[0]
    reward, commands = re.findall(r"^```\w+\n(.*?)^```$", section, re.M | re.S)
    [promised] = re.findall(r"\(here: `(.*?)`\)", section)
    (tmp_path / "reward.py").write_text(reward, "utf-8")
    path = f"{sysconfig.get_path('scripts')}:{os.environ['PATH']}"
    environment = {"PATH": path, "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        ["bash", "-c", commands], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 14, done.stdout + done.stderr
    page = unescape((tmp_path / "audit.html").read_text("utf-8"))
    assert promised in page and "EXPLOITABLE" in page.upper() and promised in done.stdout
