"""What a program in C or C++ prints: arguments with as many bytes as their formats say.

In the registers of a native machine each argument has 64 bits, and one of another size than its
format's is printed. In WebAssembly it moves all those behind it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

Token = tuple[str, str]  # its kind and its text

# Of `long`, `size_t` and `ptrdiff_t`; what is around it is in the groups.
LENGTH = re.compile(r"(%[-+ #0']*(?:\d+|\*)?(?:\.(?:\d+|\*)?)?)[lzt]([diouxXn])")
_PRINTERS = {"printf": 0, "fprintf": 1, "sprintf": 1, "snprintf": 2, "dprintf": 1}
# A flag, a width, a precision, a length, and what is printed; \x01 stands for a macro's text.
_CONVERSION = re.compile(
    r"%(?:%|[-+ #0']*(\*|\d+)?(?:\.(\*|-?\d*))?(hh|h|ll|l|[zjtLq])?([diouxXcsfFeEgGaApnm\x01]))"
)
_OPEN, _CLOSE = "([{", ")]}"


def cast_printed(tokens: Sequence[Token], out: list[str]) -> None:
    """Cast each number that is printed to the type that its format names.

    The stack has the open brackets: for a call of a function that prints, its name and the indices
    of the tokens of each argument, but for those in brackets of their own.
    """
    stack: list[tuple[str, list[list[int]]] | None] = []
    before = ""
    for index, (kind, text) in enumerate(tokens):
        if kind == "blank":
            continue
        is_mark = kind == "other"
        if is_mark and text in _CLOSE and stack and (call := stack.pop()):
            _cast_arguments(tokens, out, *call)
        if stack and (call := stack[-1]):
            if is_mark and text == ",":
                call[1].append([])
            else:
                call[1][-1].append(index)
        if is_mark and text in _OPEN:
            stack.append((before, [[]]) if text == "(" and before in _PRINTERS else None)
        before = text if kind == "name" else ""


def _cast_arguments(
    tokens: Sequence[Token], out: list[str], function: str, arguments: list[list[int]]
) -> None:
    first = _PRINTERS[function]
    if first >= len(arguments):
        return
    types, rest = _types(tokens, arguments[first]), arguments[first + 1 :]
    if any(tokens[each][1] == "__VA_ARGS__" for inside in rest[-1:] for each in inside):
        rest.pop()
    elif len(types) != len(rest):  # a macro, or a comma between the arguments of a template
        return
    for inside, cast in zip(rest, types, strict=False):
        if cast and inside:
            out[inside[0]] = f"({cast})({out[inside[0]]}"
            out[inside[-1]] += ")"


def _types(tokens: Sequence[Token], indices: Sequence[int]) -> list[str]:
    """The type of each argument after a format; "" for one that stays as it is.

    A name within the format is a macro for a conversion, as PRId64 is, or its end.
    """
    text = ""
    for index in indices:
        kind, each = tokens[index]
        if kind == "text":
            text += each.strip('"')
        elif kind == "name":
            text += "\x01"
        else:
            return []
    types, end = list[str](), 0
    for match in _CONVERSION.finditer(text):
        if "\x01" in text[end : match.start()]:
            return types
        end = match.end()
        width, precision, length, kind = match.groups()
        if kind is None or kind == "m":
            continue
        types += ["int" for star in (width, precision) if star == "*"]
        if kind in "diouxX":
            types.append("long long" if length and length[0] in "lzjtLq" else "int")
        else:
            types.append("int" if kind == "c" and not length else "")
    return types
