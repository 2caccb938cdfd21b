"""C++ in the sandbox beside g++: generated programs, of which ten share a translation unit.

Each program is a function in its own namespace. The input selects the program that runs. Each side
compiles a unit once, because a compiler spends most of its time on the library's headers.
"""

from __future__ import annotations

import random
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from infinite_rl.errors import UsageError
from infinite_rl.sandbox.executor import RewardExecutor

from .parity import Parity

_A_UNIT = 10
_doubted: set[object] = set()  # how programs ended that are unscored unless they are right
_EXECUTOR = RewardExecutor(timeout=10)
_SCRATCH = tempfile.TemporaryDirectory(prefix="parity-cpp-")


class Program(NamedTuple):
    """One function of a translation unit."""

    kind: str
    body: str
    unit: str
    number: int

    def __str__(self) -> str:
        return self.body


def parity() -> Parity:
    """Compare with g++. Raises `UsageError` if it is not installed."""
    if shutil.which("g++") is None:
        raise UsageError("g++ is not installed")
    return Parity(
        "g++ -O2 -std=gnu++20", programs, _ours, _native, lambda each: str(each.kind), _is_unscored
    )


def _is_unscored(ours: object, _native: object) -> str:
    """Whether the sandbox says that the program may do something else natively."""
    return "unscored" if ours in _doubted else ""


def programs(count: int, seed: int) -> Sequence[Program]:
    """Generate programs, each kind as often as the others."""
    chance = random.Random(seed)
    kinds = list(_KINDS)
    bodies = [
        (kind, _KINDS[kind](chance)) for n in range(count) for kind in [kinds[n % len(kinds)]]
    ]
    result: list[Program] = []
    for start in range(0, count, _A_UNIT):
        group = bodies[start : start + _A_UNIT]
        unit = "#include <bits/stdc++.h>\nusing namespace std;\n"
        for number, (_kind, body) in enumerate(group):
            unit += f"namespace p{number} {{\n{body}\n}}\n"
        calls = "".join(f"    case {n}: return p{n}::run();\n" for n in range(len(group)))
        unit += (
            f"int main() {{\n  int which;\n  cin >> which;\n  switch (which) {{\n{calls}  }}\n}}\n"
        )
        result += [Program(kind, body, unit, n) for n, (kind, body) in enumerate(group)]
    return result


def _ours(program: Program) -> object:
    ran = _EXECUTOR.execute(program.unit, "cpp", stdin=f"{program.number}\n{_INPUT}")
    if ran.doubt:
        _doubted.add((ran.exit_code, ran.stdout))
    return ran.exit_code, ran.stdout or ran.stderr[-200:] * (ran.exit_code == 126)


def _native(program: Program) -> object:
    done = subprocess.run(
        [_binary(program.unit)],
        input=f"{program.number}\n{_INPUT}",
        capture_output=True,
        text=True,
        timeout=20,
    )
    return done.returncode % 256 if done.returncode >= 0 else 128 - done.returncode, done.stdout


@cache
def _binary(unit: str) -> str:
    path = Path(_SCRATCH.name, f"unit{len(list(Path(_SCRATCH.name).iterdir()))}")
    source = path.with_suffix(".cpp")
    source.write_text(unit, encoding="utf-8")
    command = ["g++", "-O2", "-w", "-std=gnu++20", str(source), "-o", str(path)]
    subprocess.run(command, check=True)
    return str(path)


_INPUT = " ".join(str(n * n * 7919 % 1009 - 300) for n in range(60)) + "\nlast line of words\n"


# --- the kinds of programs -----------------------------------------------------------------------


def _expression(chance: random.Random, names: str, depth: int = 3) -> str:
    """An expression of unsigned numbers, which is defined whatever their values are."""
    if depth == 0 or chance.random() < 0.15:
        small, large = str(chance.randint(0, 99)), f"{chance.randint(1, 9**9)}ULL"
        return str(chance.choice([*names, small, large]))
    left, right = (_expression(chance, names, depth - 1) for _ in range(2))
    operator = chance.choice(["+", "-", "*", "^", "&", "|", "%", "/", ">>", "<<", "<", "=="])
    if operator in "%/":
        right = f"(({right}) | 1)"
    if operator in (">>", "<<"):
        right = f"(({right}) & 15)"
    return f"(({left}) {operator} ({right}))"


def _numbers(chance: random.Random) -> str:
    kind = chance.choice(["unsigned long", "unsigned long long", "unsigned", "size_t", "uint64_t"])
    lines = "".join(
        f"  cout << ({kind})({_expression(chance, 'abc')}) << '\\n';\n" for _ in range(5)
    )
    values = ", ".join(f"{name} = {chance.randint(0, 10**9)}u" for name in "abc")
    return f"int run() {{\n  {kind} {values};\n{lines}  return 0;\n}}"


def _longs(chance: random.Random) -> str:
    first, times = chance.randint(2, 10**6), chance.randint(3, 40)
    return f"""int run() {{
  long total = {first}L, other = LONG_MAX / {times};
  for (long i = 1; i <= {times}; i++) total = (total * {chance.randint(2, 99)} + i) % 1000000000039L;
  printf("%ld %lu %20ld|%-8ld|%lx\\n", total, (unsigned long)total << 3, other, total % 7, total);
  cout << stol("{chance.randint(2**33, 2**50)}") << ' ' << sizeof(long) << ' ' << labs(-total);
  return 0;
}}"""


def _formats(chance: random.Random) -> str:
    lines = ""
    for _ in range(6):
        flag, width = chance.choice(["", "-", "0", "+", " "]), chance.choice(["", "5", "12"])
        lines += f'  printf("[%{flag}{width}.{chance.randint(0, 9)}{chance.choice("feg")}]", '
        lines += f"{chance.uniform(-1, 1) * 10 ** chance.randint(-8, 8)!r});\n"
        lines += (
            f'  printf("[%{flag}{width}d|%{width}x|%{width}s|%c]\\n", {chance.randint(-999, 999)}, '
        )
        lines += f'{chance.randint(0, 9**6)}, "{"ab" * chance.randint(0, 4)}", {chance.randint(65, 90)});\n'
    return f"int run() {{\n{lines}  return 0;\n}}"


def _streams(chance: random.Random) -> str:
    manipulators = [
        "fixed",
        "scientific",
        "hex",
        "oct",
        "showpos",
        "boolalpha",
        "left",
        "uppercase",
    ]
    parts = "".join(
        f"  cout << {chance.choice(manipulators)} << setw({chance.randint(0, 14)}) << setprecision("
        f"{chance.randint(0, 12)}) << setfill('{chance.choice('.*0_')}') << {value} << '\\n';\n"
        for value in (repr(chance.uniform(-99, 99)), chance.randint(0, 999), "true", '"text"')
    )
    return f"int run() {{\n{parts}  return 0;\n}}"


def _sums(chance: random.Random) -> str:
    operation = chance.choice(["a + x", "max(a, x)", "min(a, x)", "a * 31 + x", "a ^ x"])
    return f"""int run() {{
  vector<long long> v;
  long long x;
  while (cin >> x) v.push_back(x);
  sort(v.begin(), v.end(), {chance.choice(["greater<>()", "less<>()"])});
  v.erase(unique(v.begin(), v.end()), v.end());
  rotate(v.begin(), v.begin() + {chance.randint(0, 20)}, v.end());
  cout << accumulate(v.begin(), v.end(), {chance.randint(0, 9)}LL, [](long long a, long long x) {{
    return (long long)((unsigned long long)({operation}) % 1000003); }}) << ' ' << v.size();
  for (auto y : v) cout << ' ' << y;
  return 0;
}}"""


def _maps(chance: random.Random) -> str:
    kind = chance.choice(["map<int, int>", "multimap<int, int>", "map<string, int>"])
    key = "to_string(x)" if "string" in kind else "x"
    modulus = chance.randint(2, 19)
    return f"""int run() {{
  {kind} m;
  int x;
  while (cin >> x) {{ x %= {modulus}; m.insert({{{key}, x * {chance.randint(1, 9)}}}); }}
  for (auto& [k, v] : m) cout << k << ':' << v << ' ';
  auto at = m.lower_bound({'"3"' if "string" in kind else 3});
  cout << (at == m.end() ? -1 : at->second) << m.size();
  set<pair<int, string>> s;
  for (auto& [k, v] : m) s.emplace(v % {modulus}, "v" + to_string(v));
  for (auto& [a, b] : s) cout << a << b << ',';
  return 0;
}}"""


def _texts(chance: random.Random) -> str:
    word = "".join(chance.choice("abcab") for _ in range(30))
    return f"""int run() {{
  string s = "{word}", line, t;
  cin.clear();
  cout << s.find("{word[5:8]}") << ' ' << (long long)(int)s.rfind("zz") << ' ';
  s.replace({chance.randint(0, 9)}, {chance.randint(0, 9)}, "<{word[:4]}>");
  reverse(s.begin() + {chance.randint(0, 9)}, s.end());
  cout << s << ' ' << s.substr({chance.randint(0, 12)}, {chance.randint(0, 9)}) << '\\n';
  stringstream in(s + " {chance.randint(0, 999)} 0x1f 2.5e3");
  int n; double d;
  in >> t >> n >> hex >> n >> d;
  cout << t << n << ' ' << d << stod("{chance.uniform(0, 9):.6f}") << stoi("-{chance.randint(0, 999)}");
  getline(cin, line);
  cout << line.size() << (s < t) << s.compare(t);
  return 0;
}}"""


def _failures(chance: random.Random) -> str:
    thrown = chance.choice(
        ['runtime_error("a")', 'out_of_range("b")', 'logic_error("c")', "42", 'string("d")']
    )
    ending = chance.choice(
        ["return 0", f"return {chance.randint(1, 99)}", "exit(7)", "abort()", "throw 1"]
    )
    return f"""struct Guard {{ int n; ~Guard() {{ cout << "~" << n; }} }};
int deep(int n) {{ Guard g{{n}}; if (n == 0) throw {thrown}; return deep(n - 1) + 1; }}
int run() {{
  try {{ deep({chance.randint(0, 9)}); }}
  catch (const out_of_range& e) {{ cout << "range " << e.what(); }}
  catch (const exception& e) {{ cout << "error " << e.what(); }}
  catch (int n) {{ cout << "int " << n; }}
  catch (...) {{ cout << "other"; }}
  try {{ vector<int>({chance.randint(1, 9)}).at({chance.randint(0, 12)}); cout << "in"; }}
  catch (out_of_range&) {{ cout << "out"; }}
  cout << endl;
  {ending};
}}"""


def _classes(chance: random.Random) -> str:
    return f"""struct Shape {{ virtual double area() const = 0; virtual ~Shape() {{}} }};
struct Square : Shape {{ double a; Square(double a) : a(a) {{}} double area() const override {{ return a * a; }} }};
struct Disc : Shape {{ double r; Disc(double r) : r(r) {{}} double area() const override {{ return r * r * M_PI; }} }};
template <class T, int N> struct Sum {{ static T of(const array<T, N>& v) {{ T t{{}}; for (auto& x : v) t += x; return t; }} }};
int run() {{
  vector<unique_ptr<Shape>> shapes;
  for (int i = 1; i < {chance.randint(2, 20)}; i++)
    if (i % {chance.randint(2, 5)}) shapes.push_back(make_unique<Square>(i * {chance.uniform(0, 3)!r}));
    else shapes.push_back(make_unique<Disc>(i));
  for (auto& s : shapes) printf("%.9f %d ", s->area(), dynamic_cast<Disc*>(s.get()) != nullptr);
  cout << Sum<int, 4>::of({{1, 2, 3, {chance.randint(0, 99)}}}) << Sum<string, 2>::of({{"a", "b"}});
  variant<int, string> v = {chance.choice(["5", 'string("x")'])};
  cout << v.index() << optional<int>({chance.randint(0, 9)}).value_or(3);
  return 0;
}}"""


def _real(chance: random.Random) -> str:
    function = chance.choice(
        ["sin", "cos", "exp", "log", "sqrt", "cbrt", "atan", "tgamma", "floor"]
    )
    return f"""int run() {{
  double x = {chance.uniform(0.1, 5)!r}, total = 0;
  for (int i = 1; i < {chance.randint(5, 200)}; i++) {{ total += {function}(x / i) / i; x = x * 1.01; }}
  cout << setprecision(10) << total << ' ' << pow(x, 1.5) << ' ' << hypot(x, 3) << ' ' << fmod(x, 0.7);
  printf(" %.8f %.3e %lld", atan2(x, -2), x * 1e9, llround(x * 1e6));
  return 0;
}}"""


def _search(chance: random.Random) -> str:
    size = chance.randint(5, 60)
    return f"""int run() {{
  int n = {size};
  vector<vector<pair<int, int>>> g(n);
  unsigned seed = {chance.randint(1, 10**6)};
  auto next = [&] {{ return seed = seed * 1103515245u + 12345u, (seed >> 16) & 32767; }};
  for (int i = 0; i < 3 * n; i++) {{ int a = next() % n, b = next() % n; g[a].push_back({{b, 1 + next() % 50}}); }}
  vector<long long> d(n, LLONG_MAX);
  priority_queue<pair<long long, int>, vector<pair<long long, int>>, greater<>> q;
  d[0] = 0; q.push({{0, 0}});
  while (!q.empty()) {{
    auto [c, at] = q.top(); q.pop();
    if (c > d[at]) continue;
    for (auto [to, w] : g[at]) if (c + w < d[to]) q.push({{d[to] = c + w, to}});
  }}
  for (auto c : d) cout << (c == LLONG_MAX ? -1 : c) << ' ';
  return 0;
}}"""


def _dynamic(chance: random.Random) -> str:
    first, second = ("".join(chance.choice("abc") for _ in range(40)) for _ in range(2))
    return f"""const int MOD = {chance.choice([998244353, 10**9 + 7])};
long long power(long long b, long long e) {{ long long r = 1; for (; e; e >>= 1, b = b * b % MOD) if (e & 1) r = r * b % MOD; return r; }}
int run() {{
  string a = "{first}", b = "{second}";
  vector<vector<int>> t(a.size() + 1, vector<int>(b.size() + 1));
  for (size_t i = 1; i <= a.size(); i++) for (size_t j = 1; j <= b.size(); j++)
    t[i][j] = a[i - 1] == b[j - 1] ? t[i - 1][j - 1] + 1 : max(t[i - 1][j], t[i][j - 1]);
  cout << t[a.size()][b.size()] << ' ' << power({chance.randint(2, 99)}, {chance.randint(10**9, 10**15)}LL);
  vector<long long> ways({chance.randint(50, 200)}); ways[0] = 1;
  for (int coin : {{1, {chance.randint(2, 9)}, {chance.randint(10, 30)}}}) for (size_t i = coin; i < ways.size(); i++) ways[i] = (ways[i] + ways[i - coin]) % MOD;
  cout << ' ' << ways.back();
  return 0;
}}"""


def _bits(chance: random.Random) -> str:
    return f"""int run() {{
  unsigned long long x = {chance.randint(1, 2**60)}ULL;
  cout << __builtin_popcountll(x) << ' ' << __builtin_ctzll(x) << ' ' << __builtin_clzll(x) << ' ' << __lg(x);
  bitset<40> b(x); b <<= {chance.randint(0, 20)}; b.flip({chance.randint(0, 39)});
  cout << b << b.count() << ' ' << b.to_ullong() << ' ' << __gcd(x, {chance.randint(2, 9**9)}ULL);
  __int128 big = (__int128)x * x; cout << ' ' << (unsigned long long)(big >> 64) << ' ' << (unsigned long long)big;
  mt19937 r({chance.randint(0, 9**9)}); mt19937_64 w({chance.randint(0, 9**9)});
  cout << ' ' << r() << ' ' << w() << ' ' << (int)(signed char)x << (short)x << (x >> 40);
  vector<int> p({{1, 2, 3, 4}}); int c = {chance.randint(1, 23)};
  while (c-- && next_permutation(p.begin(), p.end())) {{}}
  for (int v : p) cout << v;
  return 0;
}}"""


_KINDS: dict[str, Callable[[random.Random], str]] = {
    "unsigned arithmetic": _numbers,
    "long": _longs,
    "printf": _formats,
    "streams": _streams,
    "vectors": _sums,
    "maps and sets": _maps,
    "texts": _texts,
    "exceptions and endings": _failures,
    "classes and templates": _classes,
    "real numbers": _real,
    "graphs": _search,
    "dynamic programming": _dynamic,
    "bits and random numbers": _bits,
}
