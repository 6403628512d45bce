"""Many GPUs at once, on Dask: who measures what, in which process, and what became of it."""
