"""The notebooks run as they are, from top to bottom."""

import os
import re
from pathlib import Path
from typing import Any

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("pyarrow")
pytest.importorskip("torch")

from infinite_rl.training.runs.demo import QUICK

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "archive_examples" / "notebooks").glob("*.ipynb"))


def test_the_notebooks_are_kept_with_the_outputs_of_one_run_and_no_path_of_its_machine() -> None:
    assert NOTEBOOKS
    for path in NOTEBOOKS:
        notebook = nbformat.read(path, as_version=4)
        nbformat.validate(notebook)
        cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
        assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
        outputs = [each for cell in cells for each in cell.outputs]
        assert sum("image/png" in each.get("data", {}) for each in outputs) >= 2  # its plots
        assert not any(each.get("name") == "stderr" for each in outputs)
        assert not re.search(r"/(?:tmp|root|home|work|Users)/", str(outputs))


@pytest.mark.slow(28)
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last cell asserts what the others came to; a cell that raises ends the run.

    The model is trained as `train demo --quick` trains it: for a third of the kept run's time.
    """
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    for variable in ("IPYTHONDIR", "TMPDIR"):
        monkeypatch.setenv(variable, str(tmp_path))
    notebook: Any = nbformat.read(path, as_version=4)
    quick = f"Recipe({QUICK.sft_steps}, {QUICK.grpo_steps}, rows={QUICK.rows}"
    for cell in notebook.cells:
        cell.source = cell.source.replace("Recipe(300, 200, rows=8_000", quick)
    where = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, timeout=900, resources=where).execute()
