"""The proof of a row: that its verifier tells wrong from right, and that others find its answer.

    self_test.py          a row's reward is given wrong answers, and equivalent ones
    corruptions.py        the responses that it is given
    mutation.py           programs with one thing wrong
    math_corruptions.py   answers with one thing wrong, and right ones spelt otherwise
    latex.py              these, written out
    solves.py             what a model is asked that solves a row blind, and what its answers prove
    record.py             what judged a row
    reprove.py            a whole data set proven again

Pure: what is to be asked or written is the caller's.
"""
