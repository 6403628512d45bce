"""Runs against each other and against what was published: ledger, ratios with intervals, verdicts on claims.

Works on any run on disk; needs no GPU.
"""

from kernelbench.compare.claims import explain_verdicts, judge_claims
from kernelbench.compare.comparison import ComparedRow, Comparison, write_comparison
from kernelbench.compare.ledger import published_figures, read_ledger
from kernelbench.compare.ledger_schema import FLAGS
from kernelbench.compare.ratios import PUBLISHED, compare_within
from kernelbench.compare.verdicts import CaseVerdict, ClaimVerdict

__all__ = [
    "FLAGS",
    "PUBLISHED",
    "CaseVerdict",
    "ClaimVerdict",
    "ComparedRow",
    "Comparison",
    "compare_within",
    "explain_verdicts",
    "judge_claims",
    "published_figures",
    "read_ledger",
    "write_comparison",
]
