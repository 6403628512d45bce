"""Counters turned into words: which differ, what that means, how fast a GPU could be at best, what was published.

Knows counters and the ledger's statements; not the simulator that counts, nor the run that was timed.
"""

from kernelbench.explain.bounds import bound
from kernelbench.explain.case import explain_case
from kernelbench.explain.lines import listings
from kernelbench.explain.rules import RULES, Rule

__all__ = ["RULES", "Rule", "bound", "explain_case", "listings"]
