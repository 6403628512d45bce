"""What the softmax and log-softmax kernels of our own are launched by: which technique a case takes, and its plan."""
