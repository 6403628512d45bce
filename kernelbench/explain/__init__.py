"""Explanations from counters: which differ, what that means, bounds on the time, and published statements.

This room knows counters and the statements of the ledger, but neither the simulator nor timed runs.
"""

from kernelbench.explain.bounds import tightest_bound
from kernelbench.explain.case import explain_case
from kernelbench.explain.rules import RULES, Rule
from kernelbench.explain.source_lines import source_listings

__all__ = ["RULES", "Rule", "explain_case", "source_listings", "tightest_bound"]
