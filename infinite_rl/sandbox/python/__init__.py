"""Python in the sandbox. The program and its tests run in the guest; the host compares values.

1. prepare, suites, records, tables  rewrite a test's source so that its assertions have few forms
2. tests, forms                      split each assertion: calls for the guest, values for the host
3. guest, wasi                       run program, setup and calls in one instance of CPython, and
                                     answer what it asks of its host
4. values                            reads the values that the calls reported
5. verdicts                          judges them on the host, out of the program's reach
"""
