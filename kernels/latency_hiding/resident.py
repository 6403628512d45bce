"""Launch plans of resident.cu: a stated number of warps on each multiprocessor, by how much each has in flight."""

from functools import partial

from kernelbench import Case, DeviceProperties, Implementation, Launch, LaunchPlan, Origin, Scalar, Unsupported, dtypes

LANES = 32
BLOCK_WARPS = 32  # the most that a block has

# Bytes of a load, loads in flight of a thread, the most warps whose registers fit a multiprocessor, and the name.
FLIGHTS = ((4, 1, 64, "bytes_4"), (16, 1, 64, "bytes_16"), (16, 4, 32, "bytes_64"))

ARTICLE = Origin(
    "Oneflow-Inc/oneflow, 100 days of open source: performance optimisation",
    differs="the article estimates by latency times throughput and shows no kernel",
)


def plan(case: Case, device: DeviceProperties, word: int, loads: int, most: int) -> LaunchPlan:
    """`word`: bytes of a load; `loads`: of a thread, in flight at once; `most`: warps whose registers fit.

    As many blocks as are resident at once, so that each multiprocessor gets its share: one block, or two of half the
    warps. Shared memory to keep further blocks away would take from the L1 what loads in flight need.
    """
    warps, chain = int(case.parameter("warps", 64)), int(case.parameter("chain", 0))
    most = min(most, device.max_threads_per_multiprocessor // LANES)
    blocks = -(-warps // BLOCK_WARPS)
    if not 1 <= warps <= most:
        raise Unsupported(f"warps must be from 1 to {most}, what a multiprocessor holds of them, got {warps}")
    if warps % blocks:
        raise Unsupported(f"warps above {BLOCK_WARPS} must be even, for two blocks, got {warps}")
    if not 0 <= chain < 2**31:
        raise Unsupported(f"chain must be from 0 to 2^31 - 1, got {chain}")
    launch = Launch(
        entry=f"latency_hiding_resident_{dtypes.suffix(case.dtype)}",
        grid=(device.multiprocessors * blocks, 1, 1),
        block=(warps // blocks * LANES, 1, 1),
        arguments=(
            "x",
            "y",
            Scalar("int64", case.elements // (word // dtypes.itemsize(case.dtype))),
            Scalar("int64", case.elements),
            Scalar("int32", chain),
            Scalar("float32", 1.0),
            Scalar("float32", 0.0),
        ),
    )
    flight = warps * LANES * word * loads
    reason = (
        f"{warps} warps on each of {device.multiprocessors} multiprocessors, at most {flight} bytes in flight there"
    )
    return LaunchPlan((launch,), defines=(("WORD", word), ("LOADS", loads)), reasons=(reason,))


IMPLEMENTATIONS = tuple(
    Implementation(
        name,
        f"a thread has {loads} load{'s' if loads > 1 else ''} of {word} bytes in flight",
        ARTICLE,
        plan=partial(plan, word=word, loads=loads, most=most),
    )
    for word, loads, most, name in FLIGHTS
)
