"""The proof of a row: that its verifier tells wrong from right, and that others find its answer.

`self_test` gives a row's reward wrong answers and equivalent ones; `solves` asks a model again,
blind; `record` says what judged a row; `reprove` does it all again for a whole data set. Pure: what
is to be asked, run or written is the caller's.
"""
