"""Launch plans of words.cu: a thread copies 4, 8 or 16 bytes at a time."""

from functools import partial

from kernelbench import Case, DeviceProperties, Implementation, LaunchPlan, Origin, dtypes
from ..common.launch_helpers import packed_plan

WORDS = (4, 8, 16)

LUITJENS = Origin(
    "NVIDIA, CUDA Pro Tip: Increase Performance with Vectorized Memory Access (J. Luitjens)",
    "https://developer.nvidia.com/blog/cuda-pro-tip-increase-performance-with-vectorized-memory-access/",
    differs="64-bit indices; element by element where an array is not aligned; the tail goes to as many threads as it "
    "has elements, not to one; the grid is OneFlow's; other element types",
)


def plan(case: Case, device: DeviceProperties, word: int) -> LaunchPlan:
    """`word`: bytes of a load and of a store."""
    entry = f"copy_words_{dtypes.suffix(case.dtype)}"
    return packed_plan(entry, ("x", "y"), case, device, pack_bytes=word, defines=(("WORD", word),))


IMPLEMENTATIONS = tuple(
    Implementation(f"bytes_{word}", f"a thread copies {word} bytes at a time", LUITJENS, plan=partial(plan, word=word))
    for word in WORDS
)
