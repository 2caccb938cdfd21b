"""Row verification: does the verifier reject wrong answers, do independent solutions agree?

    self_test.py         a row's reward judges corruptions and equivalents of the row's answer
    mutation.py          mutants of a program
    math_corruptions.py  wrong answers, and equivalent spellings of the right one
    latex.py             a tree of mathematics as LaTeX
    self_consistency.py  independent solutions of a row, and the decision that follows
    differential.py      a solver's program against the row's own on generated inputs
    cross_tests.py       the solutions of two coding rows, each on the other's tests
    call_values.py       the values of calls after a program
    inputs.py            these inputs, derived from the calls in the row's tests
    strengthen.py        adds tests to a coding row until no killable mutant passes them
    search.py            the search for inputs that kill mutants
    choice.py            which of these become tests
    aids.py              programs that a model gives to help that search
    forms.py             the form of a row's tests, and new tests in that form
    variations.py        other values of an argument, by kind
    proposals.py         new inputs for that search
    distances.py         how far an input lies from those of the tests
    trials.py            the runs of that search in the sandbox
    derivation.py        the answer of a maths row, derived a second time from its prompt
    truth_rate.py        the share of right golds, from the votes of independent solutions
    certificate.py       the certificates of a data set, replayed offline

No module asks a model or writes a file: that is the caller's part.
"""

MIN_AGREEMENT = 0.25
# How the tests of a coding row are strengthened: not, by a search, or with an author's help.
OFF, SEARCH, AUTHOR = "off", "search", "author"
STRENGTHEN = (OFF, SEARCH, AUTHOR)
