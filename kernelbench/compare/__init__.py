"""Runs against each other and against what was published: ledger, ratios with intervals, verdicts on claims.

Works on any run on disk; needs no GPU.
"""

from kernelbench.compare.claims import explain_verdicts, judge, write_comparison
from kernelbench.compare.ledger import computed_flags, figures, figures_table, read_ledger
from kernelbench.compare.ratios import PUBLISHED, compare_within
from kernelbench.compare.schema import FLAGS
from kernelbench.compare.verdicts import CaseVerdict, ClaimVerdict

__all__ = [
    "FLAGS",
    "PUBLISHED",
    "CaseVerdict",
    "ClaimVerdict",
    "compare_within",
    "computed_flags",
    "explain_verdicts",
    "figures",
    "figures_table",
    "judge",
    "read_ledger",
    "write_comparison",
]
