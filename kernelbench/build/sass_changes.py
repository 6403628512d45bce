"""What ptxas changed, in words: the memory instructions of the PTX against those of the machine code."""

from collections import Counter
from collections.abc import Iterator, Mapping

from kernelbench.core.counters import JOINED

# A memory instruction: operation and space ("ld.shared"), and bytes per lane, 0 for atomics and barriers.
Access = tuple[str, int]

SPACES = ("global", "shared", "local")
SASS_CLASS = {
    "LDG": "ld.global", "STG": "st.global", "LDS": "ld.shared", "STS": "st.shared", "LDL": "ld.local",
    "STL": "st.local", "LD": "ld", "ST": "st", "LDGSTS": "cp.async", "LDSM": "ldmatrix", "STSM": "stmatrix",
    "ATOMG": "atom.global", "REDG": "atom.global", "RED": "atom", "ATOM": "atom", "ATOMS": "atom.shared",
    "BAR": "bar",
}  # fmt: skip
_SASS_NAME = {"atom.global": "ATOMG", "atom.shared": "ATOMS", "atom": "ATOM", "bar": "BAR"}
_SASS_NAME |= {name: mnemonic for mnemonic, name in SASS_CLASS.items() if name not in _SASS_NAME}
_SASS_NAME |= {f"{name}.cas": f"{mnemonic}.CAS" for name, mnemonic in _SASS_NAME.items() if name.startswith("atom")}


def spaces_resolved(ptx: Counter[Access], sass: Counter[Access]) -> tuple[Counter[Access], Counter[Access]]:
    """Both counters, with generic accesses whose space only one side knows counted under that space."""
    ptx, sass = ptx.copy(), sass.copy()
    for name, size in [access for access in ptx | sass if access[0] in ("ld", "st", "atom", "atom.cas")]:
        base, _, cas = name.partition(".")
        for space in SPACES:
            exact = f"{base}.{space}{'.' + cas if cas else ''}", size
            for less, more in ((sass, ptx), (ptx, sass)):
                moved = min(more[name, size] - less[name, size], less[exact] - more[exact])
                if moved > 0:
                    more[name, size] -= moved
                    more[exact] += moved
    return +ptx, +sass


def machine_code_changes(ptx: Counter[Access], sass: Counter[Access]) -> list[str]:
    merged, others = [], []
    for name in sorted({name for name, _ in ptx | sass}):
        before = {size: count for (one, size), count in sorted(ptx.items()) if one == name}
        after = {size: count for (one, size), count in sorted(sass.items()) if one == name}
        if name.startswith("atom") and name.endswith(".cas"):
            if after and not before and any(one.startswith("atom") for one, _ in ptx):
                others.append(_loop_text(name, sass))
        elif name.startswith("atom") and not after and any(one == f"{name}.cas" for one, _ in sass):
            continue  # reported with the loop that it became
        elif name in ("ld.local", "st.local") and not before:
            others.append(f"ptxas put registers into local memory: {_sass_text(name, after)}")
        elif not after:
            others.append(f"ptxas left out {_ptx_text(name, before)}")
        elif not before:
            if not _part_of_a_loop(name, sass):
                others.append(f"ptxas added {_sass_text(name, after)}")
        elif before.keys() != after.keys():
            merged.append(_became(name, before, after))
        elif fewer := {size: count for size, count in before.items() if after[size] < count}:
            kept = {size: after[size] for size in fewer}
            others.append(f"ptxas left {_sass_text(name, kept)} of {_ptx_text(name, fewer)}")
    return [*([f"{JOINED}: {', '.join(merged)}"] if merged else []), *others]


def _loop_text(name: str, sass: Counter[Access]) -> str:
    loop = f"a loop of a load and {_SASS_NAME[name]}"
    if sass["atom", 0]:
        return f"atomics whose space is not known became ATOM, and {loop} for shared memory"
    return f"atomics became {loop}"


def _part_of_a_loop(name: str, sass: Counter[Access]) -> bool:
    """Whether the load belongs to the loop of an atomic, without an access of its own in the PTX. For an atomic of
    unknown space this includes the load and the store of local memory."""
    loop = any(one.endswith(".cas") for one, _ in sass)
    return loop and (name.startswith("ld") or (name == "st" and sass["atom", 0] > 0))


def moved_loads(
    ptx: Counter[Access], sass: Counter[Access], ptx_early: Counter[Access], sass_early: Counter[Access]
) -> Iterator[str]:
    """Loads that every warp executes in the PTX, but in the SASS only warps that do not end early."""
    for (name, size), count in sorted(ptx_early.items()):
        later = min(count - sass_early[name, size], sass[name, size] - sass_early[name, size])
        if name.startswith("ld.") and later > 0 and sass[name, size] >= ptx[name, size]:
            text = _sass_text(name, {size: later})
            yield f"ptxas moved {text} behind the first exit: warps that end there do not run it"


def duplicated_code_note(ptx: Counter[Access], sass: Counter[Access]) -> str:
    more = [access for access, count in sorted(ptx.items()) if access[1] and sass[access] > count]
    if not more:
        return ""
    repeated = ", ".join(
        f"{_ptx_text(name, {size: ptx[name, size]})} are {_sass_text(name, {size: sass[name, size]})}"
        for name, size in more
    )
    return f"ptxas repeated code: {repeated}; lanes that leave a loop apart run different copies, one request each"


def _became(name: str, before: Mapping[int, int], after: Mapping[int, int]) -> str:
    """`32 ld.shared of 4 bytes became 16 LDS and 4 LDS.128`; for an unrolled loop one copy is shown."""
    bytes_before, bytes_after = (sum(size * count for size, count in one.items()) for one in (before, after))
    whole = bytes_before and bytes_after % bytes_before == 0  # no bytes: of a type that is not known here
    copies = bytes_after // bytes_before if whole else 1
    if copies < 2 or any(count % copies for count in after.values()):
        return f"{_ptx_text(name, before)} became {_sass_text(name, after)}"
    once = {size: count // copies for size, count in after.items()}
    return f"{_ptx_text(name, before)} became {_sass_text(name, once)} (in each of {copies} copies)"


def _ptx_text(name: str, counts: Mapping[int, int]) -> str:
    return " and ".join(f"{count} {name}{f' of {size} bytes' if size else ''}" for size, count in counts.items())


def _sass_text(name: str, counts: Mapping[int, int]) -> str:
    suffixes = {0: "", 1: ".U8", 2: ".U16", 4: "", 8: ".64", 16: ".128", 32: ".256"}
    return " and ".join(f"{count} {_SASS_NAME[name]}{suffixes[size]}" for size, count in counts.items())
