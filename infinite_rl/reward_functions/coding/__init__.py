"""Programs, judged by what they do.

reward.py       the reward
reference.py    what a program is judged against
calls.py        cases of a function, written out as tests
plain_calls.py  which tests only call the program and look at values
programs.py     where a program stands in a text without tags
predicate.py    a function of the caller's in the place of a reference
"""

from .reward import CodingRewardFunction, Submission, read_submission

__all__ = ["CodingRewardFunction", "Submission", "read_submission"]
