"""What decides a binary, changed between two runs."""

from tests.reliability.faults import Outcome, fault
from tests.reliability.kernel_faults import another_binary, own_kernel
from tests.reliability.stage import SIMULATOR, Stage


@fault("a header that a macro includes changed before --resume", SIMULATOR)
def header_changed(stage: Stage) -> Outcome:
    own = own_kernel(stage)
    header, source = own / "mine.cuh", own / "softmax" / "mine.cu"
    header.write_text("// as it was\n")
    source.write_text('#define WHICH "mine.cuh"\n/**/ #include WHICH\n' + source.read_text())
    return another_binary(stage, own, lambda: header.write_text("// another\n"))
