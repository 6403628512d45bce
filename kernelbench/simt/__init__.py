"""The simulator: parses, inlines, lowers and executes PTX on the CPU, and counts every access.

parse -> inline -> cfg -> lower -> native -> machine -> counters, faults. Nothing here knows suites or reports.
"""
