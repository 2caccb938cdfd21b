"""The text of a C++ program before the compiler sees it; nothing is compiled here."""

from __future__ import annotations

import time

import pytest

from infinite_rl.sandbox.cpp.source import absence, doubt, refusal, widened

READS_A_FILE = [
    '#include "/etc/hostname"',
    "#include </etc/hostname>",
    '#include "../../etc/hostname"',
    "#include <sys/../../../etc/passwd>",
    '#  include  \t"/etc/hostname"',
    '#inc\\\nlude "/etc/hostname"',
    '#inc\\  \nlude "/etc/hostname"',
    '#include \\\r\n"/etc/hostname"',
    '%:include "/etc/hostname"',
    '#/**/include "/etc/hostname"',
    '# /* a\nb */ include "/etc/hostname"',
    '#include /* a */ "/etc/hostname"',
    'const char* s = "/*"; \n#/**/include "/etc/hostname"\n',
    'R"(/*)";\n#include "/etc/hostname"',
    '/*#include <vector>*/ #include "/etc/hostname"',
    '// #include <vector> \\\n#include "/etc/hostname"',
    '/*\n// */ #include "/etc/hostname"',
    '// a\n#include "/etc/hostname"',
    '#include \\\n// a\n"/etc/hostname"',
    '// a\r#include "/etc/hostname"',
    'R"(\n// \\\n)";\n#include "/etc/hostname"',
    '/* \\\n// \\\n*/\n#include "/etc/hostname"',
    '#define PLACE "/etc/hostname"\n#include PLACE',
    '#include_next "/etc/hostname"',
    '#import "/etc/hostname"',
    '#embed "/etc/hostname"',
    "int a[] = {\n#embed </etc/hostname> limit(9)\n};",
    '#if __has_include("/etc/hostname")\n#endif',
    '#if __has_embed("/etc/hostname")\n#endif',
    'asm(".incbin \\"/etc/hostname\\"");',
    '__asm__(".incbin \\"/etc/hostname\\"");',
    '_Pragma("GCC dependency \\"/etc/hostname\\"")',
    '#pragma GCC dependency "/etc/hostname"',
    "#pragma clang module load x",
    '#line 1 "/etc/hostname"',
    '__attribute__((import_module("host"))) void f();',
    "int a\0;",
]


@pytest.mark.core
@pytest.mark.parametrize("code", READS_A_FILE)
def test_what_reads_a_file_by_its_path_is_refused(code: str) -> None:
    assert refusal(f"#include <vector>\n{code}\nint main() {{}}\n", is_caged=True)


def test_without_a_namespace_no_token_is_pasted() -> None:
    code = '#define J(a, b) a##b\nJ(a, sm)(".incbin \\"/etc/hostname\\"");'
    assert "##" in refusal(code, is_caged=False)
    assert refusal(code, is_caged=True) == ""  # there the file does not exist
    assert refusal("#define P(f, ...) printf(f, ##__VA_ARGS__)", is_caged=False) == ""


USUAL = """
#pragma once
// #include "/home/me/debug.h"
  //#include "../lib/all.h"
#pragma GCC optimize("O3,unroll-loops")
#pragma comment(linker, "/STACK:256000000")
#include <bits/stdc++.h>
#include <ext/pb_ds/assoc_container.hpp>
#ifdef LOCAL
#include "debug.h"
#endif
#define all(v) v.begin(), v.end()
#define show(x) std::cerr << #x << x
int main() { std::puts("a # b /* c */ // d"); }
"""


def test_what_programs_of_contests_say_is_not_refused() -> None:
    assert refusal(USUAL, is_caged=False) == ""


WIDENED = [
    ("long a;", "long long a;"),
    ("unsigned long a = 1UL;", "unsigned long long a = 1ULL;"),
    ("long int a = 5L, b = 0x1fl;", "long long int a = 5LL, b = 0x1fll;"),
    ("long long a = 1LL;", "long long a = 1LL;"),
    ("long /* and */ long a;", "long /* and */ long a;"),
    ("long double a = 1.0L;", "long double a = 1.0L;"),
    ("int longer; // long", "int longer; // long"),
    ("#define ll long long\nll a;", "#define ll long long\nll a;"),
    ('long a; puts("a long way");', 'long long a; puts("a long way");'),
    ('printf("%ld %5lu %zu %d\\n", a);', 'printf("%lld %5llu %llu %d\\n", a);'),
    ('printf("%zu %d", v.size(), 5);', 'printf("%llu %d", (long long)(v.size()), (int)(5));'),
    ("a = LONG_MAX + stol(s);", "a = LLONG_MAX + stoll(s);"),
    ("std::size_t a;", "unsigned long long a;"),
    (
        "vector<long> a; f(static_cast<long>(b));",
        "vector<long long> a; f(static_cast<long long>(b));",
    ),
    ("long f();\nlong\nlong g();", "long long f();\nlong\nlong g();"),
    ("char c = 'l', d = '\\'', e = 'long';", "char c = 'l', d = '\\'', e = 'long';"),
    ('auto s = R"(long)"; long a;', 'auto s = R"(long)"; long long a;'),
]


@pytest.mark.core
@pytest.mark.parametrize(("code", "wide"), WIDENED)
def test_long_has_64_bits_as_natively(code: str, wide: str) -> None:
    assert widened(code, sizes=True) == wide
    assert widened(code, sizes=True).count("\n") == code.count("\n")


def test_what_may_be_right_natively_is_in_doubt() -> None:
    assert "size_t" in doubt("size_t n = v.size();")
    assert ".size() *" in doubt("long long n = v.size() * v.size();")
    assert "long double" in doubt("long  double x;")
    assert doubt("for (int i = 0; i < (int)v.size(); i++) {}") == ""
    assert "<thread>" in absence("#include <thread>")
    assert "_Find_first" in absence("b._Find_first();")
    assert absence("int x = __builtin_popcount(5);") == ""


HOSTILE = [
    "#/*",
    '#include "',
    'R"(',
    "/*",
    "##",
    "%:",
    "long ",
    "'",
    '"',
    "\\\n",
    "-a.size",
    "<",
    "(",
]


@pytest.mark.parametrize("part", HOSTILE)
def test_no_text_takes_long_to_read(part: str) -> None:
    code = part * (1_000_000 // len(part))
    began = time.thread_time()
    refusal(code, is_caged=False), widened(code, sizes=True), doubt(code), absence(code)
    assert time.thread_time() - began < 20
