"""Exports that go to the Hugging Face hub: by its own client, to a hub on loopback."""

import os
import pty
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hub_server import TOKEN, Hub

from infinite_rl.dataset.rows import write
from infinite_rl.errors import StoreError, UsageError
from infinite_rl.export import FORMATS, About, export
from infinite_rl.storage.hub import push_dataset
from infinite_rl.store import DATASET_COLUMNS

hub = pytest.importorskip("huggingface_hub")
ROWS = [
    {"type": "math", "prompt": f"{n} + 1?", "answer": str(n + 1), "response": str(n + 1)}
    for n in range(4)
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    rows = [{**row, "split": "test" if n == 3 else "train"} for n, row in enumerate(ROWS)]
    export(rows, "trl", tmp_path / "out", about=About("Sums", "cc-by-4.0"))
    return tmp_path / "out"


def test_a_folder_becomes_a_data_set_of_the_hub_whole(folder: Path) -> None:
    with Hub() as server:
        url = push_dataset(folder, "me/sums", private=True, endpoint=server.base_url)
        assert url == f"{server.base_url}/datasets/me/sums"
        files = {path.name: path.read_bytes() for path in folder.iterdir()}
        assert server.repositories == {"me/sums": files} and server.private == {"me/sums"}
        assert {"README.md", "train.parquet", "test.parquet"} == set(files)
        push_dataset(folder, "me/sums", endpoint=server.base_url)  # there already: a new commit
        assert server.kinds["commit"] == 2 and server.kinds["card"] == 2


@pytest.mark.parametrize("format_", FORMATS)
def test_each_card_is_one_of_the_hub_with_its_licence_and_columns(
    format_: str, tmp_path: Path
) -> None:
    columns = dict.fromkeys(DATASET_COLUMNS, "1")
    rows = [{**columns, **row, "language": "", "status": "passed"} for row in ROWS]
    export(rows, format_, tmp_path / "out", about=About("Sums", "cc-by-4.0"))
    card = hub.DatasetCard.load(tmp_path / "out" / "README.md")
    assert (card.data.license, card.data.pretty_name) == ("cc-by-4.0", "Sums")
    assert card.data.size_categories == ["n<1K"]
    assert [each["config_name"] for each in card.data.to_dict()["configs"]] == ["default"]
    table = card.text.partition("## Columns")[2].partition("##")[0]
    lines = [line.strip("|").split("|") for line in table.strip().splitlines()[2:]]
    assert lines and all(meaning.strip() for _, meaning in lines), lines


def test_what_the_hub_or_its_user_lacks_is_said(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Hub() as server:
        for name in ("sums", "a/b/c", "../x", "me/", "me/a b", "me/..", "https://h/me/x"):
            with pytest.raises(UsageError, match="it must be ORG/NAME"):
                push_dataset(folder, name, endpoint=server.base_url)
        monkeypatch.setenv("HF_TOKEN", "hf_wrong")
        with pytest.raises(UsageError, match="the hub refuses the token for me/sums"):
            push_dataset(folder, "me/sums", endpoint=server.base_url)
        monkeypatch.delenv("HF_TOKEN")
        monkeypatch.setattr("huggingface_hub.get_token", lambda: None)
        with pytest.raises(UsageError, match="set HF_TOKEN"):
            push_dataset(folder, "me/sums", endpoint=server.base_url)
        assert server.repositories == {}


def test_a_hub_that_is_down_or_away_loses_nothing(folder: Path) -> None:
    with Hub(down=True) as server, pytest.raises(StoreError, match="does not take me/sums"):
        push_dataset(folder, "me/sums", endpoint=server.base_url)
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        away = f"http://127.0.0.1:{nobody.getsockname()[1]}"
        with pytest.raises(StoreError, match="hub"):
            push_dataset(folder, "me/sums", endpoint=away)
    assert (folder / "train.parquet").is_file()


def command(tmp_path: Path, *more: str) -> list[str]:
    words = ["export", str(tmp_path / "rows.jsonl"), "--to", "trl", "-o", str(tmp_path / "out")]
    return [sys.executable, "-m", "infinite_rl", *words, "--push_to_hub", "me/sums", *more]


def environment(server: Hub) -> dict[str, Any]:
    return {**os.environ, "HF_ENDPOINT": server.base_url, "HF_TOKEN": TOKEN}


@pytest.mark.slow
def test_the_command_asks_for_a_licence_and_uploads(tmp_path: Path) -> None:
    write(ROWS, tmp_path / "rows.jsonl")
    with Hub() as server:
        options = {"env": environment(server), "capture_output": True, "text": True}
        done = subprocess.run(command(tmp_path), stdin=subprocess.DEVNULL, check=False, **options)
        assert done.returncode == 2 and "--licence apache-2.0" in done.stderr
        assert not (tmp_path / "out").exists()
        ours, theirs = pty.openpty()  # a terminal
        os.write(ours, b"odc-by\n")
        done = subprocess.run(command(tmp_path), stdin=theirs, check=False, **options)
        os.close(ours), os.close(theirs)
        assert done.returncode == 0, done.stderr
        assert "licence of the data set" in done.stderr
        assert f"uploaded to {server.base_url}/datasets/me/sums" in done.stdout
        assert b'license: "odc-by"' in server.repositories["me/sums"]["README.md"]
        again = command(tmp_path, "--licence", "mit", "--overwrite", "--json")
        assert subprocess.run(again, check=False, **options).returncode == 0
        assert b'license: "mit"' in server.repositories["me/sums"]["README.md"]
