"""C++ as an extra: clang of PyPI's `ziglang` on the host, its code in WebAssembly.

source.py    what a program may not ask of the compiler, and the sizes of its numbers
cage.py      the compiler as a process without files, environment and network, within limits
compiler.py  the C++ library, built once a machine, and the module of a program
guest.py     from a program to its module
checkers.py  checkers with testlib.h
"""
