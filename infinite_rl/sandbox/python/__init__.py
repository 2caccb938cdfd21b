"""Python in the sandbox: a program runs in one interpreter, its tests in another.

1. guest  starts the interpreters, runs the program and then the tests, passes their messages on
2. wasi   what an interpreter asks of its host: output, clocks, random numbers, nothing else
3. files  files in memory, which both interpreters see
4. plain  compares the values of tests that need no interpreter: `assert f(1) == 2`
5. checkers  a data set's own functions that judge an output, in an interpreter of their own
6. session  one interpreter that is kept between the turns of a model

What runs inside is in `build_src/python/guest`: the tests' side (`judge`, `small_pytest`), the
program's (`served`), their messages (`peer`) and what stands for the other's objects (`stand_ins`).
"""
