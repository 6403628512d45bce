"""Which axes a permutation moves, and the fewest that move alike."""

from math import prod

from kernelbench import Case, Unsupported


def permutation_of(case: Case) -> tuple[int, ...]:
    """The parameter `permutation`: "0231" names the source axis of each axis; "" reverses their order."""
    rank = len(case.shape)
    text = case.parameter("permutation", "") or "".join(map(str, reversed(range(rank))))
    if sorted(text) != [str(axis) for axis in range(rank)]:
        axes = ", ".join(map(str, range(rank)))
        raise Unsupported(f"permutation must name each of the axes {axes} once, as one text, got '{text}'")
    return tuple(map(int, text))


def merged_axes(shape: tuple[int, ...], permutation: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The same permutation with the fewest axes: axes that stay neighbours are merged, axes of extent 1 vanish.

    `permutation[k]` is the axis of the source that becomes axis k. At least one axis is left.
    """
    groups: list[list[int]] = []  # neighbouring axes of the source, in the target's order
    last = None
    for axis in permutation:
        if shape[axis] == 1:
            continue
        between = range(0 if last is None else last + 1, axis)
        if last is not None and axis > last and all(shape[other] == 1 for other in between):
            groups[-1].append(axis)
        else:
            groups.append([axis])
        last = axis
    if not groups:
        return (1,), (0,)
    order = sorted(range(len(groups)), key=lambda number: groups[number][0])  # groups as the source has them
    extents = tuple(prod(shape[axis] for axis in groups[number]) for number in order)
    return extents, tuple(order.index(number) for number in range(len(groups)))
