"""A hub of data sets on loopback: what `huggingface_hub` calls to make a repository and commit."""

import base64
import json
from typing import Any

from loopback import Call, Reply, Service, json_reply

TOKEN = "hf_" + "t" * 34


class Hub(Service[Call]):
    """Repositories by name, each a mapping of files. `private` are those that others cannot see."""

    def __init__(self, *, down: bool = False) -> None:
        super().__init__()
        self.repositories: dict[str, dict[str, bytes]] = {}
        self.private: set[str] = set()
        self._down = down

    def read(self, call: Call) -> Call:
        return call

    def decide(self, request: Call) -> Reply:
        path = request.path.split("?")[0]
        if self._down:
            return json_reply("down", 503, {"error": "maintenance"})
        if path == "/api/validate-yaml":
            return json_reply("card", 200, {"errors": [], "warnings": []})
        if request.headers.get("authorization") != f"Bearer {TOKEN}":
            return json_reply("refused", 401, {"error": "Invalid credentials"})
        body: Any = json.loads(request.body) if path.endswith(("create", "preupload/main")) else {}
        if path == "/api/repos/create":
            return self._create(body)
        name = "/".join(path.split("/")[3:5])
        if path.endswith("/preupload/main"):
            modes = [
                {"path": each["path"], "uploadMode": "regular", "shouldIgnore": False}
                for each in body["files"]
            ]
            return json_reply("preupload", 200, {"files": modes})
        if path.endswith("/commit/main"):
            return self._commit(name, request)
        return json_reply("unknown", 404, {"error": path})

    def _create(self, body: Any) -> Reply:
        name = (
            f"{body['organization']}/{body['name']}" if body.get("organization") else body["name"]
        )
        if body.get("type") != "dataset":
            return json_reply("wrong", 400, {"error": "no data set"})
        if name in self.repositories:
            url = f"{self.base_url}/datasets/{name}"
            return json_reply("there", 409, {"error": "it exists", "url": url})
        self.repositories[name] = {}
        if body.get("private") or body.get("visibility") == "private":
            self.private.add(name)
        return json_reply("created", 200, {"url": f"{self.base_url}/datasets/{name}"})

    def _commit(self, name: str, request: Call) -> Reply:
        for line in map(json.loads, request.body.splitlines()):
            if line["key"] == "file":
                value = line["value"]
                assert value["encoding"] == "base64"
                self.repositories[name][value["path"]] = base64.b64decode(value["content"])
        url = f"{self.base_url}/datasets/{name}/commit/{'0' * 40}"
        done = {"success": True, "commitOid": "0" * 40, "commitUrl": url, "hookOutput": ""}
        return json_reply("commit", 200, done)
