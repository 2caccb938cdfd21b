"""How the text of a program in C is adapted; nothing is compiled here."""

from __future__ import annotations

import json

import pytest

from infinite_rl.errors import ExtraMissing
from infinite_rl.reward_functions.coding import CodingRewardFunction
from infinite_rl.sandbox import runtimes
from infinite_rl.sandbox.binary import read_unsigned, signed, unsigned
from infinite_rl.sandbox.c.compiler import with_stack
from infinite_rl.sandbox.c.source import absence, doubt, widened
from infinite_rl.sandbox.executor import RewardExecutor
from infinite_rl.sandbox.programs import CompilerLimit

ULL = "unsigned long long"


def test_without_the_extra_a_row_is_unscored_and_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(runtimes, "find_spec", lambda _name: None)
    runtimes.load_guest.cache_clear()
    with pytest.raises(ExtraMissing, match=r"pip install 'infinite-rl\[c\]'"):
        RewardExecutor().execute("int main() {}", "c")
    program = "<answer>\n```c\nint main() { return 0; }\n```\n</answer>"
    cases = json.dumps({"cases": [{"input": "1", "output": "1"}]})
    score = CodingRewardFunction().compute_reward(program, cases)
    assert score.status == "unscored" and "pip install 'infinite-rl[c]'" in score.error_msg


@pytest.mark.parametrize(
    ("code", "wide"),
    [
        ("long x = 5L;", "long long x = 5LL;"),
        ("unsigned long int f(long double);", "unsigned long long int f(long double);"),
        ("long long x; long\tlong y;", "long long x; long\tlong y;"),
        ("size_t n = sizeof(int);", f"{ULL} n = ({ULL})sizeof(int);"),
        ("n = strlen(s);", f"n = ({ULL})strlen(s);"),
        ("size_t strlen(const char *s);", f"{ULL} strlen(const char *s);"),
        ("x = strtol(s, 0, 10) + LONG_MAX;", "x = strtoll(s, 0, 10) + LLONG_MAX;"),
        ('char *s = "a long size_t 5L";', 'char *s = "a long size_t 5L";'),
        ("// a long line\n/* size_t */", "// a long line\n/* size_t */"),
        ('scanf("%ld%*ld%5zu", &a, &b);', 'scanf("%lld%*lld%5llu", &a, &b);'),
        ('u8"text"', '"text"'),
    ],
)
def test_numbers_have_the_bits_that_they_have_natively(code: str, wide: str) -> None:
    assert widened(code, sizes=True) == wide
    assert widened(code, sizes=True).count("\n") == code.count("\n")


@pytest.mark.parametrize(
    ("call", "cast"),
    [
        ('printf("%d %s %c", a + b, s, c)', 'printf("%d %s %c", (int)(a + b), s, (int)(c))'),
        ('printf("%ld", p - q)', 'printf("%lld", (long long)(p - q))'),
        ('printf("%zu" "%5.*f", f(1, 2), n, x)',
         'printf("%llu" "%5.*f", (long long)(f(1, 2)), (int)(n), x)'),
        ('fprintf(stderr, "%u%%%x", a, b[i])', 'fprintf(stderr, "%u%%%x", (int)(a), (int)(b[i]))'),
        ('snprintf(s, n, "%lld", (x, y))', 'snprintf(s, n, "%lld", (long long)((x, y)))'),
        ('printf("%" PRId64 "%d", a, b)', 'printf("%" PRId64 "%d", a, (int)(b))'),
        ('printf(FORMAT "%d", a, b)', 'printf(FORMAT "%d", a, b)'),
        ('printf(c ? "%d" : "-", a)', 'printf(c ? "%d" : "-", a)'),
        ('printf("%d", __VA_ARGS__)', 'printf("%d", __VA_ARGS__)'),
        ('printf("%d", f<a, b>(c))', 'printf("%d", f<a, b>(c))'),
        ('printf("%d %d", a, __VA_ARGS__)', 'printf("%d %d", (int)(a), __VA_ARGS__)'),
        ('printf("%d", a', 'printf("%d", a'),
        ("int printf(const char *, ...);", "int printf(const char *, ...);"),
    ],
)  # fmt: skip
def test_an_argument_has_the_bytes_that_its_format_says(call: str, cast: str) -> None:
    assert widened(call, sizes=True) == cast


def test_what_may_differ_natively_is_doubted_and_nothing_else() -> None:
    for code in (
        "long double x;",
        'printf("%Lf", x);',
        'printf("%d", (int)sizeof(struct s));',
        'printf("%zu", sizeof p);',
        'printf("%p", p);',
        "x = va_arg(list, long);",
        "uint_fast32_t x;",
        'setlocale(LC_ALL, "");',
        'fopen("a", "r");',
    ):
        assert doubt(f"int main() {{ {code} }}"), code
    for code in (
        "size_t n = strlen(s) - 1;",
        "int *p = malloc(n * sizeof *p);",
        'printf("%zu %d", sizeof(int), (int)sizeof(unsigned long));',
        "long x = 5; double d = x;",
        "x = va_arg(list, int);",
    ):
        assert not doubt(code), code


@pytest.mark.parametrize(
    "name", ["fork", "pthread_create", "sigaction", "__builtin_xyz", "strtok_r"]
)
def test_a_function_of_the_native_library_is_missed(name: str) -> None:
    assert name in absence("int main() {}", name)


@pytest.mark.parametrize("name", ["solve", "strrev", "itoa", "max", "getvalue", "sorted", "cosine"])
def test_any_other_function_is_the_programs_fault(name: str) -> None:
    assert absence(f"#include <pthread.h>\nint main() {{ {name}(); }}", name) == ""


def test_what_the_compiler_does_not_read_is_missed() -> None:
    for text in ("__int128 x;", 'asm("nop");', "#include <pthread.h>", "double _Complex z;"):
        assert absence(f"{text}\nint main() {{}}"), text
    assert absence("int main() { return x; }") == ""


def test_the_stack_is_behind_all_other_memory() -> None:
    memory, pointer = b"\x01\x00\x03", b"\x01\x7f\x01\x41" + signed(130_000) + b"\x0b"
    sections = [(5, memory), (6, pointer), (10, b"\x00")]
    head = b"\0asm\1\0\0\0"
    wasm = head + b"".join(bytes([kind, len(body)]) + body for kind, body in sections)
    moved = with_stack(wasm)
    pages, _ = read_unsigned(moved, moved.index(b"\x05") + 4)
    assert pages == 3 + 256
    assert signed(pages << 16) + b"\x0b" in moved
    with pytest.raises(CompilerLimit):
        with_stack(head + b"\x0a" + unsigned(2**21) + bytes(2**21))


@pytest.mark.parametrize("value", [0, 63, 64, 127, 128, 2**14, 2**28 + 5])
def test_numbers_of_webassembly_are_written_as_they_are_read(value: int) -> None:
    assert read_unsigned(unsigned(value), 0) == (value, len(unsigned(value)))
    written = signed(value)
    assert written[-1] < 0x40  # else it would be negative
