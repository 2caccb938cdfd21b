"""Rewards of one's own in a folder: their files, and `rewards.json`, which lists them.

`infinite-rl export --rewards` writes such a folder. The list has for each reward, by the `type` of
its rows, the `file` in the folder, the `class` in that file, and the `sha256` of the file.
"""

import hashlib
import json
from pathlib import Path

from ..errors import UsageError
from . import load_reward
from .reward_function import RewardFunction

LIST = "rewards.json"


def rewards_in(folder: str | Path, timeout: float = 5) -> dict[str, RewardFunction]:
    """Create the rewards of a folder, by the `type` of their rows.

    Their files are imported, so this runs code of the folder's author. `timeout` is in seconds.

    Raises:
        UsageError: the folder has no list that can be read, a file is missing or is not the one
            that was exported; or as `load_reward`.
    """
    folder, rewards = Path(folder).absolute(), {}
    for name, entry in listed(folder).items():
        path = folder / entry["file"]
        try:
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
        except OSError as error:
            raise UsageError(f"the reward {name!r} cannot be read: {error}") from None
        if digest != entry["sha256"]:
            raise UsageError(
                f"{path} is not the file that was exported: its SHA-256 is {digest}, in {LIST} it "
                f"is {entry['sha256']}; export the rows again"
            )
        rewards[name] = load_reward(name, f"{path}:{entry['class']}")(name, timeout)
    return rewards


def listed(folder: Path) -> dict[str, dict[str, str]]:
    """The list of a folder. Raises UsageError if there is none that can be read."""
    path = folder / LIST
    try:
        entries = {
            str(name): {key: str(entry[key]) for key in ("file", "class", "sha256")}
            for name, entry in json.loads(path.read_bytes()).items()
        }
    except OSError as error:
        raise UsageError(f"there are no rewards in {folder}: {error}") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise UsageError(
            f"{path} is no list of rewards, as `infinite-rl export` writes it"
        ) from None
    for entry in entries.values():
        if Path(entry["file"]).name != entry["file"]:
            raise UsageError(f"{path} names a file of another folder: {entry['file']!r}")
    return entries
