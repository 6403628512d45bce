"""Our own softmax and log-softmax: device code, the plans that launch it, and the Triton kernels beside it."""
