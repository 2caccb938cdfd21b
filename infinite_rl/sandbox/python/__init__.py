"""Python in the sandbox.

prepare, suites, records, tables  write a test's assertions in fewer forms
tests, forms, closed, own         read them: what the guest computes, what the host judges
guest, values, verdicts           run the program, read its reported values, judge them
"""
