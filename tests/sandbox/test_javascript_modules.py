"""ES modules as scripts, and the names that tests import from a program."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path

import pytest

from infinite_rl.sandbox.executor import RewardExecutor
from infinite_rl.sandbox.javascript.modules import as_script
from tests.support.labelled import Tables

tables = Tables(__file__)

MODULE = """import assert, { strictEqual as same } from 'assert';
import * as path from 'node:path';
import {
  EventEmitter, // the usual one
} from "events";
import fs from 'fs'
import 'util';
import util, * as all from 'util';
export const one = 1, three = 3;
export default function add(a, b) { return a + b }
export async function later() { return `${`import x from 'y' ${/`/.test('`')}`} }` }
export class K {}
function hid() {} // import a from 'b'
export { hid as shown, add };
export * from 'os'; export * as system from 'os';
const s = "import q from 'q'", r = /import"/;
const o = { import: 1, export: 2 };
console.log(o.import, o.export, one / three);
same(add(1, 2), 3); assert(true);
console.log(path.join('a', 'b'), typeof EventEmitter, typeof fs.readFileSync, await later());
console.log(all.format('%d', 1), util.inspect(s), r);
const { sep } = await import('path'); console.log(sep, import.meta.url.slice(0, 7));
try { undeclared = 1 } catch (e) { console.log(e.name) }
console.log(new Error('x').stack.match(/main.m?js:(\\d+):/)[1]);
"""


def test_a_module_prints_what_node_prints(tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("Node is not installed: nothing to compare with")
    source = MODULE.replace(", // the usual one", ",")
    path = tmp_path / "main.mjs"
    path.write_text(source, encoding="utf-8")
    expected = subprocess.run([node, path], capture_output=True, encoding="utf-8", check=True)
    assert RewardExecutor().execute(source, "javascript").stdout == expected.stdout


@tables
def test_what_imports_and_exports_nothing_comes_back_as_it_is(source: str) -> None:
    assert as_script(source) == source


def test_lines_stay_where_they_are() -> None:
    made = as_script("import {\n  a,\n  b as c,\n} from 'x';\nlast")
    assert made == "\"use strict\";const a = require('x').a, c = require('x').b;\n\n\n\nlast"


def test_hostile_sources_take_linear_time() -> None:
    for source in (
        *("import " * 20000, "import" + " " * 100000, "import('a');" + "/[" * 50000),
        *("import.meta;" + "`${" * 30000, "import('a');" + "/*" * 50000),
        *("import('a');" + '"\\' * 50000, "export {" + "a," * 50000, "export async" + " " * 100000),
        "export function" + "*" * 100000,
        "export {}" + " " * 50000 + "from" + " " * 50000,
        "export * as" + " " * 100000,
    ):
        started = time.thread_time()
        as_script(source)
        assert time.thread_time() - started < 1, source[:20]
