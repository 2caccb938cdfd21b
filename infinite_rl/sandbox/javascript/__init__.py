"""JavaScript in the sandbox.

tokens, modules, runners  read the source: tokens, imports, the test runner that it is written for
tests                     read the tests: what each assertion asks, and what it expects
guest, machine            run the program in one QuickJS instance
values, verdicts          read its reported values and judge them outside the program
"""
