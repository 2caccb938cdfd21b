// Runs programs one after another on the node that runs this file.
//
//     node native_node.js < requests > answers
//
// A request is one line of JSON, {"code": ..., "timeout": seconds}; so is its answer, {"stdout": ...,
// "stderr": ..., "exit_code": ...}, where the code is 124 for a program that was stopped. Programs
// share one process, which takes most of the time of a fresh one: whoever finds a difference should
// confirm it in a process of its own. A program has ended when nothing is left to do
// ('beforeExit'), and after an error that it did not catch nothing that it still does counts. Of
// such an error stderr holds what node prints between its head and its foot. A failed
// console.assert, which node only prints, makes the exit code 1.
'use strict';
const fs = require('fs');
const util = require('util');
const vm = require('vm');

const STOPPED = 124;
const HEAD = /^(?:main\.js|<anonymous_script>):\d+\n[^]*?\n *\^+\n\n/; // the line where it happened
const PARAMETERS = 'exports, require, module, __filename, __dirname';
let current = null;

const assert = console.assert;
console.assert = (condition, ...rest) => {
  if (!condition && current) current.exit_code = 1;
  assert.call(console, condition, ...rest);
};

function print(value) {
  let left = Buffer.from(JSON.stringify(value) + '\n');
  while (left.length > 0) {
    try {
      left = left.subarray(fs.writeSync(1, left)); // a pipe takes a part of it
    } catch (error) {
      if (error.code !== 'EAGAIN') throw error;
    }
  }
}

function capture(stream, name) {
  stream.write = (text) => {
    if (current && !current.over) current[name] += text;
    return true;
  };
}

function fail(error) {
  if (!current || current.over) return;
  if (error && error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') {
    current.exit_code = STOPPED;
  } else {
    if (util.types.isNativeError(error)) error.stack = String(error.stack).replace(HEAD, '');
    current.stderr += util.inspect(error) + '\n';
    current.exit_code = 1;
  }
  current.over = true;
}

function finish() {
  if (!current) return;
  const { stdout, stderr, exit_code } = current;
  print({ stdout, stderr, exit_code: exit_code || process.exitCode || 0 });
  process.exitCode = 0;
  current = null;
}

function start({ code, timeout }) {
  current = { stdout: '', stderr: '', exit_code: 0, over: false };
  try {
    // As node wraps a file: its names are its own.
    const wrapped = vm.runInThisContext(`(function (${PARAMETERS}) {${code}\n})`, 'main.js');
    const module = { exports: {} };
    globalThis.__run = () => wrapped.call(module.exports, module.exports, require, module, '', '');
    vm.runInThisContext('__run()', { timeout: timeout * 1000 });
  } catch (error) {
    fail(error);
  }
}

// The next request is read when the loop has nothing left to do: reading is blocking on purpose.
let rest = '';
function next() {
  const piece = Buffer.alloc(65536);
  while (!rest.includes('\n')) {
    const size = fs.readSync(0, piece, 0, piece.length);
    if (size === 0) return null;
    rest += piece.toString('latin1', 0, size); // JSON from us is ASCII
  }
  const end = rest.indexOf('\n');
  const line = rest.slice(0, end);
  rest = rest.slice(end + 1);
  return JSON.parse(line);
}

capture(process.stdout, 'stdout');
capture(process.stderr, 'stderr');
process.on('uncaughtException', fail);
process.on('beforeExit', () => {
  finish();
  const request = next();
  if (request === null) return;
  setImmediate(start, request);
});
