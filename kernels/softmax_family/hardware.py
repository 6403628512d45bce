"""What all known GPUs have in common; plans and costs of the softmax family are computed from it."""

WARP = 32  # threads
MAX_WARPS = 32  # per block
SCHEDULERS = 4  # per multiprocessor, each of which issues an instruction of a warp per clock
REGISTERS = 65536  # per multiprocessor
PACK, LOAD = 16, 4  # bytes: the widest access of a thread, and that of rows that begin anywhere
BANKS, BANK_BYTES = 32, 4  # of shared memory
SECTOR, LINE = 32, 128  # bytes that memory moves at once, and of a line of the caches
USUAL_CLOCK_HZ = 1.5e9  # where a GPU's is not known
