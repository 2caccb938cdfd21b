"""The model and the data that a config names, on this machine's disk: the mirror's copy first."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import UsageError
from ..storage import Transfer, fetch

logger = logging.getLogger(__name__)


def fetched(
    values: Mapping[str, Any], mirror: str = "", transfer: Transfer | None = None
) -> dict[str, Any]:
    """A config's values with its model and its data on this machine's disk.

    What is named as of the hub is looked for in the `mirror` first: a model NAME in
    MIRROR/models/NAME/, a data set hf:NAME:SPLIT in MIRROR/data/NAME/SPLIT/.

    Raises:
        UsageError: something is not there, or may not be read.
        StoreError: it could not be fetched whole.
    """
    inputs, found = _Inputs(mirror.rstrip("/"), transfer or Transfer()), dict(values)
    if found.get("model"):
        found["model"] = inputs.model(str(found["model"]))
    if found.get("data"):
        found["data"] = inputs.data(str(found["data"]))
    if found.get("datasets"):
        found["datasets"] = [inputs.dataset(each) for each in found["datasets"]]
    return found


@dataclass(frozen=True)
class _Inputs:
    mirror: str
    transfer: Transfer

    def model(self, name: str) -> str:
        if ":" not in name:
            if Path(name).expanduser().exists() or name.startswith(("/", ".", "~")):
                return name
            name = f"hf-model:{name}"
        return self._first(name, f"models/{name.partition(':')[2]}/")

    def data(self, uri: str) -> str:
        if ":" not in uri:
            return uri
        return self._first(uri, f"data/{uri.partition(':')[2].replace(':', '/')}/")

    def dataset(self, given: Mapping[str, Any]) -> dict[str, Any]:
        there = {key: str(given[key]) for key in ("path", "order") if given.get(key)}
        return {**given, **{key: self.data(uri) for key, uri in there.items()}}

    def _first(self, uri: str, copy: str) -> str:
        """Where `uri` is on this machine now: from the mirror's copy, if there is one."""
        if self.mirror and uri.startswith(("hf:", "hf-model:")):
            try:
                return self._fetched(f"{self.mirror}/{copy}")
            except UsageError as error:
                logger.info("not in the mirror: %s", error)
        return self._fetched(uri)

    def _fetched(self, uri: str) -> str:
        path = fetch(uri, self.transfer)
        logger.info("%s is at %s", uri, path)
        return str(path)
