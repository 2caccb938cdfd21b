"""A newcomer audits the guide's example of a reward by its commands, and reads one page."""

import os
import re
import subprocess
import sysconfig
from html import unescape
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_the_commands_of_the_guide_write_the_page_that_it_promises(tmp_path: Path) -> None:
    guide = (ROOT / "docs" / "audit.md").read_text("utf-8")
    reward, rows, audit, finding = re.findall(r"^```\w+\n(.*?)^```$", guide, re.M | re.S)[:4]
    [promised] = re.findall(r'completion: "(.*)"', finding)
    (tmp_path / "reward.py").write_text(reward, "utf-8")
    path = f"{sysconfig.get_path('scripts')}:{os.environ['PATH']}"
    environment = {"PATH": path, "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        ["bash", "-c", rows + audit], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 14, done.stdout + done.stderr
    page = unescape((tmp_path / "audit.html").read_text("utf-8"))
    assert promised in page and "EXPLOITABLE" in page.upper() and promised in done.stdout
