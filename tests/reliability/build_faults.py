"""What decides a binary, changed between two runs."""

from tests.reliability.faults import Outcome, fault
from tests.reliability.kernel_faults import _own_kernel
from tests.reliability.stage import COLUMNS, SIMULATOR, Stage, rows


@fault("a header that a macro includes changed before --resume", SIMULATOR)
def header_changed(stage: Stage) -> Outcome:
    own = _own_kernel(stage)
    header, source = own / "mine.cuh", own / "softmax" / "mine.cu"
    header.write_text("// as it was\n")
    source.write_text('#define WHICH "mine.cuh"\n/**/ #include WHICH\n' + source.read_text())
    options = ("--kernels", own, "--filter", f"columns={COLUMNS[0]}")
    first = stage.run(*options)
    assert first.code == 0, first.err
    before = rows(stage.out)
    header.write_text("// another\n")
    done = stage.run("--resume", *options)
    assert done.code == 0, done.err
    left = rows(stage.out)
    assert left.keys() == before.keys(), "in the place of what was there"
    (why,) = [line for line in done.err.splitlines() if "mine is another binary now" in line]
    return Outcome(why, done.code, len(left))
