"""Every fault that is played, from the modules that play them."""

from tests.reliability import build_faults, cheat_faults, kernel_faults, plan_faults, run_faults, shell_faults
from tests.reliability.faults import FAULTS

__all__ = ["FAULTS", "build_faults", "cheat_faults", "kernel_faults", "plan_faults", "run_faults", "shell_faults"]
