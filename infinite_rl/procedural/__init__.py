"""The embedded provider: verified tasks from a seed, without a key or a network.

Maths: `math_*.py` draw the numbers, `phrases/*.txt` word them, `templates.py` joins the two.
Coding: `code_*.py` on top of `code.py`; SQL: `sql_*.py` on top of `sql.py`. `families.py` has the
tables of all, and the provider.
"""

from .families import ProceduralProvider, families, make_problem

__all__ = ["ProceduralProvider", "families", "make_problem"]
