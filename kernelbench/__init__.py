"""kernelbench: does a published CUDA kernel comparison hold on this GPU, by how much, and why?"""

__version__ = "0.1.0"
