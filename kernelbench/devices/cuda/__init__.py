"""A CUDA GPU through CuPy. Only this folder, and peers that measure CuPy, import it."""

from kernelbench.devices.cuda.device import CudaDevice

__all__ = ["CudaDevice"]
