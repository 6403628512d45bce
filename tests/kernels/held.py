"""What holds for each choice of softmax and log-softmax, whatever asks for it: a block or a thread holds its part."""

from collections import Counter

from kernelbench.core.records import Case, DeviceProperties
from kernels.layer_norm._words import WARPS
from kernels.softmax_family import row_plans
from kernels.softmax_family.axis_grids import lead_of, resident_blocks_of_gpu
from kernels.softmax_family.axis_tiles import Tile, View
from kernels.softmax_family.row_candidates import AnyChoice
from kernels.softmax_family.row_techniques import Held, Split, Staged, StagedLanes
from kernels.softmax_family.words import Words


def capacity(choice: Held) -> int:
    """Packs of a row that it holds."""
    return choice.lanes * choice.warps * choice.blocks * (choice.packs + choice.shared_packs)


def check_row_choice(choice: AnyChoice, columns: int, itemsize: int, device: DeviceProperties) -> None:
    masked = columns * itemsize % 16 != 0
    packs = -(-(columns * itemsize + masked * (16 - itemsize)) // 16)  # from a pack's last element on
    if isinstance(choice, Held):
        assert capacity(choice) >= packs, columns
        assert choice.masked == masked
        assert choice.blocks <= device.max_cluster
        assert choice.block * choice.shared_packs * 16 <= device.shared_per_block_optin - 2048
        assert choice.resident * choice.block <= 2048
        if choice.warps == 1:  # every lane's last but one pack exists, wherever the row begins
            assert choice.lanes * (choice.packs - 1) <= -(-columns * itemsize // 16), columns
            assert not choice.masked or columns * itemsize > 16
        else:
            assert choice.block == 32 * choice.warps
    elif isinstance(choice, Staged):
        thread_bytes = choice.group * columns * itemsize
        assert choice.columns == columns
        assert thread_bytes % 4 == 0, "whole words"
        assert thread_bytes * choice.block <= 48 * 1024, "static shared memory"
        unit = next(width for width in (16, 8, 4) if thread_bytes % width == 0)
        assert thread_bytes // unit % 2 == 1, f"{columns} columns: threads' words lie in the same banks"
    elif isinstance(choice, StagedLanes):
        assert choice.lanes * choice.loads > columns // 2, "a row may begin and end within words"
        assert choice.lanes * (choice.loads - 1) <= columns // 2, "only the last words are masked"
        assert (choice.group % choice.rows, choice.warp_rows % 8) == (0, 0)
        if choice.warp_rows % 16 == 0:  # whole sectors
            assert _words_in_a_bank(columns, choice.lanes, choice.group) <= 4
        plan = row_plans.plan_of("one_read_rows", choice, Case("softmax", (5000, columns), -1, "float16"), device)
        assert plan.launches[0].shared_bytes <= 48 * 1024
    elif isinstance(choice, Words):
        check_words(choice, columns, itemsize, device)
        assert choice.threads <= 32
    else:
        assert isinstance(choice, Split)


def in_words(word: int, threads: int, own: int, rows: int = 1, hint: int = 0) -> Words:
    return Words(word, threads, own, rows, threads if threads > 32 else 64, 8, hint)


def check_words(one: Words, columns: int, itemsize: int, device: DeviceProperties) -> None:
    nbytes = columns * itemsize
    assert nbytes % 16, "rows of whole packs are held in packs"
    assert nbytes % one.word == 0, columns
    assert one.word == 8 or nbytes % (2 * one.word), "no larger word divides the row"
    assert one.threads * (one.words - 1) * one.word < nbytes <= one.threads * one.words * one.word, columns
    assert one.rows == 1 or one.threads <= 32
    assert one.block == (64 if one.threads <= 32 else one.threads)
    assert one.threads <= 32 or one.threads // 32 in WARPS
    assert one.resident >= 2
    assert one.resident * one.block <= device.max_threads_per_multiprocessor


def _words_in_a_bank(columns: int, lanes: int, group: int) -> int:
    """Most words of shared memory that lanes of a warp ask of one of its 32 banks at a time."""
    begins = (first * group * columns // 2 for first in range(32 // lanes))
    words = {begin + lane for begin in begins for lane in range(lanes)}
    return max(Counter(word % 32 for word in words).values())


def check_tile(tile: Tile, view: View, device: DeviceProperties) -> None:
    assert tile.parts * tile.rows >= view.dim > (tile.parts - 1) * tile.rows, "every block has rows"
    assert tile.threads * tile.slabs <= 1024
    held = tile.segment * tile.at_once * (tile.packs + tile.shared_packs) * tile.per_pack
    assert held >= tile.rows * tile.width, "a block holds its tile"
    assert tile.packs * tile.registers * tile.held_strips <= 64, "words of a thread in registers"
    assert tile.shared_bytes <= device.shared_per_block_optin
    if tile.more_strips:
        assert (tile.group, tile.slabs, tile.is_exact(view)) == (1, 1, True), "a thread has all rows of its columns"
        assert tile.more_strips < tile.strips(view)
    assert resident_blocks_of_gpu(tile, device) > 0
    if tile.is_whole:
        assert tile.segment * tile.per_pack == tile.width
    if tile.layout == "ragged":
        assert tile.segment * tile.per_pack % tile.width == 0, "a thread has the same columns in each of its packs"
    if tile.layout == "shifted":
        assert tile.segment * tile.per_pack >= min(tile.width + tile.per_pack - 1, view.inner)
        assert tile.at_once % tile.per_pack == 0, "a thread's rows begin alike"
    if tile.lanes:
        assert tile.group or tile.threads % 32 == 0
    if tile.exchange == "tickets":
        assert tile.parts <= lead_of(tile, view, 0), "sums of a strip come before its results"
    if tile.exchange == "co-resident":
        assert tile.parts <= resident_blocks_of_gpu(tile, device), "else its blocks wait for one that does not run"
    if tile.exchange == "block":
        assert tile.parts == 1
