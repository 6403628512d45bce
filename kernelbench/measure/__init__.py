"""Is it right, and how long does it take? Verification, samples, rounds, floor and ceiling.

Everything here goes through contracts.Device, so that tests run it on a fake with a set clock.
"""
