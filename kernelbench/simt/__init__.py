"""The simulator: PTX text is parsed, flattened, lowered and executed on the CPU, and every access is counted.

parse -> inline -> cfg -> lower -> native -> machine -> counters, faults. Nothing here knows suites or reports.
"""
