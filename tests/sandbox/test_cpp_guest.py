"""C++ in the sandbox, with its compiler: by hand, since the library takes minutes to build once.

pip install 'infinite-rl[cpp]' && python -m pytest -m soak tests/sandbox/test_cpp_guest.py
"""

# ruff: noqa: E501 -- a program of one line is easier to read than its pieces
from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

from infinite_rl.reward_functions.coding import CodingRewardFunction
from infinite_rl.sandbox.cpp import cage, guest
from infinite_rl.sandbox.cpp.checkers import run_checker
from infinite_rl.sandbox.cpp.compiler import compile_program, tools
from infinite_rl.sandbox.executor import RewardExecutor
from infinite_rl.sandbox.runtimes import Limits
from infinite_rl.types import Execution

pytest.importorskip("ziglang")
pytestmark = [pytest.mark.slow, pytest.mark.soak]

ALL = "#include <bits/stdc++.h>\nusing namespace std;\n"


def run(code: str, stdin: str = "", **limits: float) -> Execution:
    return RewardExecutor(timeout=2).execute(code, "cpp", stdin=stdin, **limits)  # type: ignore[arg-type]


PRINTS = [
    ("#include <cstdio>\nint main() { int x; scanf(\"%d\", &x); printf(\"%d\\n\", 2 * x); }", "21", "42\n"),
    ("#include <iostream>\nint main() { for (int i = 0; i < 50000; i++) std::cout << i << std::endl; }",
     "", "".join(f"{n}\n" for n in range(50000))),
    (ALL + "int main() { try { vector<int> v(1); v.at(5); } catch (exception& e) { cout << 1; } }", "", "1"),
    (ALL + "int main() { try { stoi(\"x\"); } catch (invalid_argument&) { cout << \"caught\"; } }", "", "caught"),
    (ALL + "int main() { long a = 1L << 40; printf(\"%ld\", a); cout << sizeof(long); }", "", "10995116277768"),
    (ALL + "int main() { size_t n = 1; for (int i = 0; i < 40; i++) n *= 2; cout << n; }", "", "1099511627776"),
    (ALL + "int main() { __int128 a = 1; a <<= 100; cout << (long long)(a >> 90) << __lg(17); }", "", "10244"),
    (ALL + "int main() { string s = \"abc\"; int a[5], *p = a + 2; printf(\"%zu %ld %d\", s.size(), p - a, 7); }", "", "3 2 7"),
    ("#include <iostream>\nint main() { std::string s; int n = 0; while (std::getline(std::cin, s)) n++;"
     " std::cout << n; }", "a\n\nb", "3"),
    ("#include <iostream>\n#include <vector>\nusing namespace std;\nint main() { vector<int> v{3, 1, 2};"
     " sort(v.begin(), v.end()); cout << v[0]; }", "", "1"),  # without <algorithm>
    (ALL + "int main() { regex r(\"a+\"); cout << regex_match(\"aaa\", r) << bitset<4>(5); }", "", "10101"),
    (ALL + "#define int long long\nsigned main() { int a = 1e12; cout << a; }", "", "1000000000000"),
    (ALL + "int main() { cout << fixed << setprecision(3) << 2.0 / 3 << hex << 255; }", "", "0.667ff"),
]  # fmt: skip


@pytest.mark.parametrize(("code", "stdin", "stdout"), PRINTS)
def test_a_program_prints_what_it_prints_natively(code: str, stdin: str, stdout: str) -> None:
    ran = run(code, stdin)
    assert (ran.status, ran.stdout, ran.stderr) == ("ok", stdout, "")


BATTERY = [
    ("int main() { volatile int x = 0; for (;;) x++; }", "timeout", 124),
    ("#include <vector>\nint main() { std::vector<std::vector<int>> v; for (;;) v.emplace_back(1 << 20); }",
     "memory", 134),
    ("#include <cstdio>\nint main() { for (;;) puts(\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"); }",
     "output", 137),
    ("int f(int x) { volatile char b[99]; b[0] = x; return f(x + 1) + b[0]; }\nint main() { return f(0); }",
     "error", 139),
    ("#include <stdexcept>\nint main() { throw std::runtime_error(\"no\"); }", "error", 134),
    ("#include <cstdlib>\nint main() { abort(); }", "error", 134),
    ("#include <cassert>\nint main() { assert(1 == 2); }", "error", 134),
    ("#include <cstdlib>\nint main() { exit(3); }", "error", 3),
    ("int main() { volatile int z = 0; return 5 / z; }", "error", 136),
    ("int main() { volatile int* p = (int*)-8; *p = 3; }", "error", 139),
    ("int main() { int (*f)(double) = (int (*)(double))main; return f(1); }", "error", 134),
    ("#include <csignal>\nint main() { raise(SIGSEGV); }", "error", 134),
    ("int main() { for (;;) { try { throw 1; } catch (...) { } } }", "timeout", 124),
    ("int main() { for (;;) { try { for (;;) new int[1000]; } catch (...) { } } }", "error", 134),
]  # fmt: skip


@pytest.mark.parametrize(("code", "status", "exit_code"), BATTERY)
def test_a_hostile_program_is_stopped(code: str, status: str, exit_code: int) -> None:
    ran = run(code)
    assert (ran.status, ran.exit_code) == (status, exit_code), ran.stderr[-300:]


REACHES_OUT = [
    ("std::ifstream f(\"/etc/passwd\"); std::string s; cout << bool(f >> s);", "0"),
    ("std::ofstream f(\"/tmp/left\"); f << 1; f.flush(); cout << f.good();", "0"),
    ("cout << (fopen(\"../../../etc/passwd\", \"r\") != nullptr);", "0"),
    ("cout << (getenv(\"HOME\") != nullptr) << (getenv(\"PATH\") != nullptr);", "00"),
    ("cout << remove(\"/etc/passwd\") << rename(\"/etc/passwd\", \"/tmp/x\");", "-1-1"),
]  # fmt: skip


@pytest.mark.parametrize(("statement", "printed"), REACHES_OUT)
def test_nothing_of_the_host_is_reachable(statement: str, printed: str) -> None:
    ran = run(f"{ALL}int main() {{ {statement} }}")
    assert (ran.status, ran.stdout) == ("ok", printed)


def test_fuel_is_counted_alike() -> None:
    code = (
        ALL
        + "int main() { map<int, int> m; for (int i = 0; i < 999; i++) m[i]++; cout << m.size(); }"
    )
    runs = [run(code, fuel=10**8) for _ in range(2)]
    assert runs[0].fuel == runs[1].fuel > 10_000
    assert run(code, fuel=1000).status == "timeout"


BOMBS = {
    "templates": "template <int N> struct F { static const int v = F<N - 1>::v + F<N - 2>::v; };\n"
    "int main() { return F<100000>::v; }",
    "two templates": "template <int N, int M> struct T { typedef typename T<N - 1, M * 2>::t t; typedef"
    " typename T<N - 1, M * 2 + 1>::t u; };\nint main() { T<40, 1>::t x; }",
    "macros": "".join(f"#define M{n + 1} M{n} M{n} M{n} M{n} M{n} M{n} M{n} M{n}\n" for n in range(12))
    + "#define M0 1+\nint main() { return M12 0; }",
    "constant": "constexpr int f() { int x = 0; for (;;) x ^= 1; return x; }\n"
    "constexpr int y = f();\nint main() {}",
    "array": "int a[1 << 28] = {1};\nint main() {}",
    "brackets": "int main() { return " + "(" * 100_000 + "1" + ")" * 100_000 + "; }",
    "self": '#include "main.cpp"\nint main() {}',
    "alignment": "struct alignas(1 << 28) A { char c[1 << 28]; };\nA a[7] = {};\nint main() {}",
    "error text": '#error "' + "x" * 100_000 + '"\n',
    "deep": "template <class... T> struct P {};\n"
    "template <int N, class... T> struct Q : Q<N - 1, T..., T..., int> {};\n"
    "template <class... T> struct Q<0, T...> {};\nint main() { Q<40, int> q; }",
}  # fmt: skip


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_for_the_compiler_is_bounded_and_its_messages_stay_here(name: str) -> None:
    ran = run(BOMBS[name])
    assert ran.status == "error"
    assert len(ran.stderr) < 400
    assert "note:" not in ran.stderr and "clang" not in ran.stderr and "/" not in ran.stderr[:200]


# These reach the compiler as if nothing had been refused.
LEAKS = [
    '#include "/etc/hostname"\nint main() {}',
    "#include </etc/hostname>\nint main() {}",
    '#include "../../../../../../etc/hostname"\nint main() {}',
    'int a[] = {\n#embed "/etc/hostname"\n};\nint main() {}',
    'asm(".incbin \\"/etc/hostname\\"");\nint main() {}',
    '#define J(a, b) a##b\nJ(a, sm)(".incbin \\"/etc/hostname\\"");\nint main() {}',
    '#if !__has_include("/etc/hostname")\n#error none\n#endif\nint main() {}',
    '#include "/proc/self/environ"\nint main() {}',
    '#include "/root/.bashrc"\nint main() {}',
    '#include "/dev/zero"\nint main() {}',
]


@pytest.mark.parametrize("code", LEAKS)
def test_the_compiler_has_no_file_of_the_host_even_if_asked(code: str) -> None:
    kit = tools()
    if not cage.has_namespace(kit.zig.parent, kit.built):
        pytest.skip("this system grants no namespace")
    with pytest.raises(Exception, match="does not compile") as refused:
        compile_program(code, {}, whole=False)
    assert socket.gethostname() not in str(refused.value).replace("/etc/hostname", "")


def score(code: str, output: str = "3\n") -> str:
    reference = {"cases": [{"input": "1 2", "output": output}]}
    completion = f"<answer>\n```cpp\n{code}\n```\n</answer>"
    return CodingRewardFunction().compute_reward(completion, json.dumps(reference)).status


def test_a_row_is_judged_and_what_this_machine_cannot_judge_is_unscored() -> None:
    adds = ALL + "int main() { int a, b; cin >> a >> b; cout << a + b; }"
    assert score(adds) == "passed"
    assert score(adds, "4\n") == "failed"
    assert score("int main() { return foo; }") == "failed"
    assert score('#include "/etc/hostname"\nint main() {}') == "failed"
    assert score("#include <thread>\nint main() { std::thread t([] {}); t.join(); }") == "unscored"
    assert score("#include <ext/pb_ds/assoc_container.hpp>\nint main() {}") == "unscored"
    assert (
        score(ALL + "int main() { vector<int> v; long long n = v.size() - 1; cout << n; }")
        == "unscored"
    )
    assert score('int main() { asm("nop"); }') == "unscored"
    assert score(ALL + "int main() { size_t a, b; cin >> a >> b; cout << a + b; }") == "passed"


def test_a_program_is_compiled_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    code = f'#include <cstdio>\nint main() {{ puts("{tmp_path.name}"); }}'
    assert run(code).status == "ok"
    monkeypatch.setattr(guest, "compile_program", None)
    assert run(code).status == "ok"
    assert guest.CppGuest().run_with(code, Limits()).status == "ok"  # from the disk


TESTLIB = """
#include <cstdio>
#include <cstdlib>
#include <string>
#include <fstream>
int judge(int argc, char** argv, bool (*same)(double, double)) {
  std::ifstream input(argv[1]), output(argv[2]), answer(argv[3]);
  double left, right;
  while (answer >> right) {
    if (!(output >> left)) return 2;
    if (!same(left, right)) return 1;
  }
  std::string rest;
  return output >> rest ? 2 : 0;
}
"""
NEAR = '#include "testlib.h"\n#include <cmath>\nint main(int c, char** v) {' \
    " return judge(c, v, [](double a, double b) { return std::fabs(a - b) < 1e-6; }); }"  # fmt: skip


@pytest.mark.parametrize(
    ("checker", "output", "passed"),
    [
        (NEAR, "0.3333333 2", True),
        (NEAR, "0.34 2", False),
        (NEAR, "0.33333333", False),
        (NEAR, "0.33333333 2 3", False),
        ("int main() { return 3; }", "1", None),
        ("int main() { return 4; }", "1", None),
        ("#include <cstdlib>\nint main() { abort(); }", "1", None),
        ("int main() { for (;;) { volatile int x = 0; } }", "1", None),
        ("int main() { return x; }", "1", None),
        ('#include "/etc/hostname"\nint main() { return 1; }', "1", None),
        ("constexpr int f() { for (;;) { } return 0; }\nconstexpr int x = f();", "1", None),
        ('#include <cstdio>\nint main() { fputs("points 0.5", stderr); return 7; }', "1", False),
        (
            '#include <cstdio>\nint main() { fputs("points 1.0 good", stderr); return 7; }',
            "1",
            True,
        ),
        ("#include <thread>\nint main() { std::thread t; return 1; }", "1", None),
    ],
)
def test_a_checker_judges_by_its_exit_code(
    checker: str, output: str, passed: bool | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "testlib.h").write_text(TESTLIB, encoding="utf-8")
    monkeypatch.setenv("INFINITE_RL_TESTLIB", str(tmp_path / "testlib.h"))
    verdict = run_checker(RewardExecutor(timeout=2), checker, "1 3", output, "0.33333333 2")
    assert verdict.passed is passed, verdict
