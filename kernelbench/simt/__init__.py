"""The simulator: parses, inlines, lowers and executes PTX on the CPU, and counts every access. A library of its own:

    from kernelbench.simt import simulate

    run = simulate(ptx, "saxpy", grid=4, block=256, arrays={"n": np.int32(1000), "a": np.float32(2), "x": x, "y": y})
    run.outputs["y"], run.counters.global_load_sectors, run.faults

parse -> inline -> cfg -> lower -> native -> machine -> counters, faults. Nothing here knows suites or reports.
"""

from kernelbench.simt.simulation import Simulation, kernel_named, simulate
from kernelbench.simt.tensor_maps import TensorMap
from kernelbench.simt.textures import Texture

__all__ = ["Simulation", "TensorMap", "Texture", "kernel_named", "simulate"]
