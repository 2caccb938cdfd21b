"""JavaScript in the sandbox. The program and its tests run in the guest; the host compares values.

1. tokens, modules, runners  scan the source: tokens, imports as scripts, which runner tests need
2. tests                     splits each assertion: expressions for the guest, values for the host
3. guest, machine            run program, setup and expressions in one instance of QuickJS
4. values                    reads the values that the expressions reported
5. verdicts                  judges them on the host, out of the program's reach
"""
