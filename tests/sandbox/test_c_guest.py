"""C in the sandbox, with its compiler."""

# ruff: noqa: E501 -- a program of one line is easier to read than its pieces
from __future__ import annotations

import json
import os
import signal
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from optional import needs_c

from infinite_rl.reward_functions.coding import CodingRewardFunction
from infinite_rl.sandbox.c import guest
from infinite_rl.sandbox.executor import RewardExecutor
from infinite_rl.sandbox.runtimes import Limits, load_guest, runtime_named
from infinite_rl.types import Execution

pytestmark = needs_c

ALL = "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <math.h>\n"


def run(code: str, stdin: str = "", **limits: float) -> Execution:
    return RewardExecutor(timeout=2).execute(code, "c", stdin=stdin, **limits)  # type: ignore[arg-type]


PRINTS = [
    ('int main(void) { int a; scanf("%d", &a); printf("%d\\n", 2 * a); }', "42\n"),
    ('int main() { long a; scanf("%ld", &a); a <<= 40; printf("%ld %zu", a, sizeof(long)); }', "23089744183296 8"),
    ('int main() { size_t n = 1; for (int i = 0; i < 40; i++) n *= 2; printf("%zu %ld", n, (long)(n - 1)); }', "1099511627776 1099511627775"),
    ('int main() { int a[9], *p = a + 7; printf("%ld %d %lu\\n", p - a, strlen("abc"), sizeof a / sizeof *a); }', "7 3 9\n"),
    ('int main() { long long d = strlen("ab") - 3; printf("%lld", d); }', "-1"),
    ('int main() { char s[20]; while (fgets(s, 20, stdin)) printf("<%s>", s); }', "<21\n><last>"),
    ('static int by(const void *a, const void *b) { return *(int *)a / 10 - *(int *)b / 10; }\n'
     'int main() { int v[] = {31, 12, 35, 11, 30}; qsort(v, 5, 4, by); for (int i = 0; i < 5; i++) printf("%d ", v[i]); }', "12 11 31 35 30 "),
    ('int main() { srand(42); printf("%d %d", rand(), RAND_MAX); }', "71876166 2147483647"),
    ('int main() { int i = 0; printf("%d %d %d", i++, i++, i++); }', "2 1 0"),
    ('#include <inttypes.h>\nint main() { int64_t a = INT64_MIN; printf("%" PRId64, a); }', "-9223372036854775808"),
    ('#include <setjmp.h>\njmp_buf b;\nint main() { if (!setjmp(b)) longjmp(b, 3); puts("back"); }', "back\n"),
    ('int main() { printf("%.3f %d %f", sqrt(2), isnan(0.0) != 0, INFINITY); }', "1.414 0 inf"),
    ('int main() { struct { int n; int a[]; } *f = malloc(40); f->a[3] = 7; printf("%d %s", f->a[3], _Generic(1L, long: "l", default: "?")); }', "7 l"),
    ('uint f(uint x, const ulong *y) { return x + *y; }\nint main() { ulong y = 1UL << 40; printf("%u %lu", f(2, &y), y); }', "2 1099511627776"),
    ('#include <stdint.h>\nint main() { size_t a = SIZE_MAX; printf("%zu %d", a, a == (size_t)-1); }', "18446744073709551615 1"),
    ('static int deep(int n) { int a[20]; a[n % 20] = n; return n ? deep(n - 1) + a[n % 20] % 2 : 0; }\nint big[1000000] = {1};\n'
     'int main() { big[500] = 3; printf("%d %d", deep(60000), big[500]); }', "30000 3"),
]  # fmt: skip


@pytest.mark.parametrize(("code", "stdout"), PRINTS, ids=range(len(PRINTS)))
def test_a_program_prints_what_it_prints_natively(code: str, stdout: str) -> None:
    ran = run(ALL + code, "21\nlast")
    assert (ran.status, ran.stdout, ran.stderr) == ("ok", stdout, "")


def test_functions_that_are_not_declared_have_the_types_of_the_library() -> None:
    code = (
        'main() { printf("%.3f %d", sqrt(2.0), abs(-3)); double *p = malloc(8); *p = 1; exit(0); }'
    )
    assert run(code).stdout == "1.414 3"


BATTERY = {
    "loop": ("int main() { for (;;); }", "timeout", 124),
    "output": ('int main() { for (;;) puts("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"); }', "output", 137),
    "memory": ("int main() { while (malloc(1 << 20)); return 7; }", "error", 7),
    "memory that is not there": ("int main() { for (;;) *(char *)malloc(1 << 20) = 1; }", "timeout", 124),
    "stack": ("int f(int n) { volatile char b[99]; b[0] = n; return f(n + 1) + b[0]; }\nint main() { return f(0); }", "error", 139),
    "stack of calls": ("int f(int n) { return n ? 1 + f(n - 1) : 0; }\nint main() { return f(2000000000); }", "error", 139),
    "a variable array": ("int main() { int n = 1 << 30; char a[n]; a[0] = a[n - 1] = 1; return a[0]; }", "error", 139),
    "alloca": ("#include <alloca.h>\nint main() { for (;;) *(char *)alloca(1 << 20) = 1; }", "error", 139),
    "null read": ("struct n { int v; struct n *next; };\nint main() { struct n *p = 0; return p->next->v; }", "error", 139),
    "null write": ('int main() { int *p = 0; *p = 4; puts("done"); return 0; }', "error", 139),
    "wild": ("int main() { *(int *)0xfffffff0 = 1; }", "error", 139),
    "beyond an array": ("int main() { int a[4]; for (int i = 0; i < 100000000; i++) a[i] = 7; }", "error", 139),
    "before an array": ("int main() { int a[4]; for (int i = 0; i > -100000000; i--) a[i] = 7; }", "error", 139),
    "division": ("int main() { volatile int z = 0; return 5 / z; }", "error", 136),
    "least by -1": ("int main() { volatile int z = -1, least = -2147483647 - 1; return least / z; }", "error", 136),
    "abort": ("int main() { abort(); }", "error", 134),
    "assert": ("#include <assert.h>\nint main() { assert(1 == 2); }", "error", 134),
    "exit": ("int main() { exit(3); }", "error", 3),
    "longjmp": ("#include <setjmp.h>\njmp_buf b;\nint main() { longjmp(b, 1); }", "error", 134),
    "constructor": ("__attribute__((constructor)) void f(void) { for (;;); }\nint main() {}", "timeout", 124),
    "at exit": ("void f(void) { for (;;); }\nint main() { atexit(f); }", "timeout", 124),
}  # fmt: skip


@pytest.mark.parametrize("name", BATTERY)
def test_a_hostile_program_is_stopped(name: str) -> None:
    code, status, exit_code = BATTERY[name]
    ran = RewardExecutor(timeout=0.5).execute(ALL + code, "c")
    assert (ran.status, ran.exit_code) == (status, exit_code), ran.stderr[-300:]


REACHES_OUT = {
    '#include "/etc/hostname"': 126,
    "#include </etc/hostname>": 126,
    '#include "../../../../etc/hostname"': 126,
    '#include "/proc/self/environ"': 126,
    '#include "/dev/zero"': 126,
    '#include "main.c"': 126,
    '#include "/main.wasm"': 126,
    '#include "/wasi-sysroot/lib/wasm32-wasip1/libc.a"': 126,
    'asm(".incbin \\"/etc/hostname\\"");': 126,
    '#pragma comment(lib, "/etc/hostname")': 126,
    '#pragma comment(option, "-run")\n#pragma comment(option, "-v")': None,
    "#!/usr/bin/tcc -run": None,
    'char a[] = {\n#embed "/etc/hostname"\n};': None,
    'int x(int) __asm__("evil.thing"); int y = 0; int z(void) { return x(1); }': 126,
    'int x(int, int, int) __asm__("shellsim.path_chmod"); int z(void) { return x(0, 1, 2); }': 126,
    '#define __builtin_abort asm\n#undef __wasm__\n#include "tcc/include/tccdefs.h"': 126,
}  # fmt: skip


@pytest.mark.parametrize("text", REACHES_OUT)
def test_the_compiler_has_no_file_of_the_host(text: str) -> None:
    ran = run(f"{text}\nint main(void) {{ return 0; }}")
    assert ran.exit_code in ({0, 126} if REACHES_OUT[text] is None else {REACHES_OUT[text]})
    assert len(ran.stdout + ran.stderr) < 300
    hostname = Path("/etc/hostname")
    if hostname.is_file() and (name := hostname.read_text("utf-8").strip()):
        assert name not in ran.stdout + ran.stderr


SEES = [
    ('fopen("/etc/passwd", "r") != 0', "0"),
    ('fopen("/main.c", "r") != 0', "0"),
    ('fopen("/tmp/left", "w") != 0', "0"),
    ('fopen("main.wasm", "w") != 0', "0"),
    ('getenv("HOME") != 0 || getenv("PATH") != 0', "0"),
    ('remove("/etc/passwd") + rename("/etc/passwd", "/tmp/x")', "-2"),
]  # fmt: skip


@pytest.mark.parametrize(("expression", "printed"), SEES)
def test_nothing_of_the_host_is_reachable(expression: str, printed: str) -> None:
    ran = run(f'{ALL}int main() {{ printf("%d", {expression}); }}')
    assert (ran.status, ran.stdout) == ("ok", printed)


def test_a_call_of_the_system_by_its_own_name_opens_nothing() -> None:
    code = """int open_(int, int, const char *, int, int, long long, long long, int, int *)
        __asm__("wasi_snapshot_preview1.path_open");
    int main() { int f = -5; return open_(3, 0, "../etc/passwd", 13, 0, -1, -1, 0, &f) == 44 && f == -5; }"""
    assert run(code).exit_code == 1


BOMBS = {
    "macros": "".join(f"#define M{n + 1} M{n} M{n} M{n} M{n} M{n} M{n} M{n} M{n}\n" for n in range(12))
    + "#define M0 1+\nint main() { return M12 0; }",
    "array": "int a[1 << 28] = {1};\nint main() {}",
    "brackets": "int main() { return " + "(" * 100_000 + "1" + ")" * 100_000 + "; }",
    "braces": "int main() {" + "{" * 100_000 + "}" * 100_000 + "}",
    "pointers": "int " + "*" * 200_000 + "p;\nint main() {}",
    "digits": "int main() { return " + "9" * 900_000 + "; }",
    "error text": '#error "' + "x" * 100_000 + '"\n',
    "warnings": "#warning " + "x" * 90 + "\n" + "#warning x\n" * 50_000 + "int main() {}",
    "names": "#define C(a, b) a##b\n#define D(a) C(a, a)\nint main() { " + "D(" * 30 + "x" + ")" * 30 + "; }",
    "cases": "int main(int c, char **v) { switch (c) {" + "".join(f"case {n}: c += {n};" for n in range(20_000)) + "} return 0; }",
    "one function": "int main(int c, char **v) { volatile int x = c; " + "x = x * 3 + x / 7;" * 50_000 + "return 0; }",
    "one expression": "int main(int c, char **v) { return " + "+".join(f"c * {n}" for n in range(60_000)) + "; }",
    "variables": "int main() { " + "".join(f"int v{n} = {n};" for n in range(30_000)) + "return 0; }",
    "gotos": "int main(int c, char **v) { " + "".join(f"L{n}: if (c == {n}) goto L{n * 7919 % 3000};" for n in range(3000)) + "}",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_for_the_compiler_is_bounded(name: str) -> None:
    ran = run(BOMBS[name])
    assert ran.status in ("ok", "error")
    assert len(ran.stderr) < 300 and "/" not in ran.stderr


def test_fuel_is_counted_alike_and_bounds_a_program() -> None:
    code = (
        ALL + 'int main() { long s = 0; for (int i = 0; i < 9999; i++) s += i; printf("%ld", s); }'
    )
    runs = [run(code, fuel=10**8) for _ in range(2)]
    assert runs[0].fuel == runs[1].fuel > 10_000
    assert run(code, fuel=1000).status == "timeout"


def test_a_program_that_is_too_long_or_needs_more_memory_does_not_run() -> None:
    assert "longer than" in run("//" + "x" * 1_000_001).stderr
    ran = run(ALL + "static char a[1 << 28];\nint main() { return a[5]; }", memory_limit_mb=64)
    assert ran.status == "memory"


def score(code: str, reference: Mapping[str, object] | None = None, fence: str = "c") -> str:
    expected = json.dumps(reference or {"cases": [{"input": "1 2", "output": "3\n"}]})
    completion = f"<answer>\n```{fence}\n{code}\n```\n</answer>"
    return CodingRewardFunction().compute_reward(completion, expected).status


ADDS = ALL + 'int main() { int a, b; scanf("%d %d", &a, &b); printf("%d\\n", a + b); return 0; }'


def test_a_row_is_judged_and_what_cannot_be_judged_here_is_unscored() -> None:
    assert score(ADDS) == score(ADDS, fence="c11") == "passed"
    assert score(ADDS.replace("a + b", "a - b")) == "failed"
    assert score(ADDS.replace("return 0", "return 4")) == "failed"
    assert score(ADDS.replace("int a, b", "int a")) == "failed"
    assert score(ADDS.replace("a + b", "plus(a, b)")) == "failed"
    assert score('#include "/etc/hostname"\nint main() {}') == "failed"
    assert (
        score("#include <pthread.h>\nint main() { pthread_t t; pthread_create(&t, 0, 0, 0); }")
        == "unscored"
    )
    assert score("int main() { __int128 x = 1; return x; }") == "unscored"
    assert score('int main() { asm("nop"); return 0; }') == "unscored"
    assert (
        score("int main() { int by = 1; int f(int x) { return x + by; } return f(2); }")
        == "unscored"
    )
    assert score(ALL + 'int main() { printf("%d", (int)sizeof(char *)); }') == "unscored"
    assert (
        score(ALL + "int f(double d) { return d; }\nint main() { return ((int (*)(int))f)(3); }")
        == "unscored"
    )
    assert score(ADDS, {"tests": ["assert f(1) == 1"], "language": "c"}) == "unscored"


def test_a_message_names_the_line_of_the_program_and_nothing_else() -> None:
    ran = run("int main(void) {\n  long x = 1;\n  return y;\n}")
    assert ran.stderr == "SyntaxError: line 3: 'y' undeclared\n"


def test_threads_and_a_forked_process_compile_at_the_same_time(tmp_path: Path) -> None:
    codes = [f'#include <stdio.h>\nint main() {{ puts("{tmp_path.name}{n}"); }}' for n in range(8)]
    with ThreadPoolExecutor(8) as pool:
        outputs = [ran.stdout for ran in pool.map(run, codes)]
    assert outputs == [f"{tmp_path.name}{n}\n" for n in range(8)]
    shared = load_guest(runtime_named("c"))
    assert isinstance(shared, guest.CGuest)
    with shared._compiling:  # as if a thread were compiling
        child = os.fork()
        if child == 0:
            signal.alarm(100)
            os._exit(0 if run("int main() { return 7; }").exit_code == 7 else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_a_program_is_compiled_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    code = f'#include <stdio.h>\nint main() {{ puts("{tmp_path.name}"); }}'
    assert run(code).status == "ok"
    monkeypatch.setattr(guest, "compile_program", None)
    assert run(code).status == "ok"
    from_disk = guest.CGuest().run_with(code, Limits())
    assert (from_disk.status, from_disk.stdout) == ("ok", f"{tmp_path.name}\n")
