"""Programs, judged by their behaviour.

reward.py       the reward: which verdict becomes which score, batches in worker processes
judge.py        runs a program against its reference, and checks the reference's own tests
verdicts.py     a run's verdict, and the short texts that give the reason
language.py     in which language a program is judged
programs.py     the program in a completion
reference.py    the forms of a reference
calls.py        cases of a function, written out as tests
plain_calls.py  which tests only call the program and look at values
"""

from .programs import Submission, read_submission
from .reward import CodingRewardFunction

__all__ = ["CodingRewardFunction", "Submission", "read_submission"]
