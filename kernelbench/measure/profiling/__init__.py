"""Hardware counters through Nsight Compute: a pass of its own over kernels that were verified before."""
