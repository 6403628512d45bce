"""The catalog of kernels, and a launch plan for every case, or the reason why there is none."""
