"""The proof of a row: that its verifier tells wrong from right, and that others find its answer.

    self_test.py          a row's reward is given wrong answers, and equivalent ones
    corruptions.py        the responses that it is given
    mutation.py           programs with one thing wrong
    math_corruptions.py   answers with one thing wrong, and right ones spelt otherwise
    latex.py              these, written out
    self_consistency.py   self-consistency: independent solutions of a row, and what they prove
    differential.py       a solver's program and the row's own on inputs that neither has seen
    inputs.py             these inputs, made of the calls in the row's tests
    record.py             what judged a row
    reprove.py            a whole data set proven again

Pure: what is to be asked or written is the caller's.
"""
