"""A CUDA GPU through CuPy. Nothing outside of this folder imports cupy, but peers that measure it."""

from kernelbench.devices.cuda.device import CudaDevice

__all__ = ["CudaDevice"]
