"""What a shell, a terminal and whoever reads the output can do to a run."""

import signal
from functools import partial

from tests.reliability.child import Hooks
from tests.reliability.faults import FAULTS, Fault, Outcome, fault, resumed, said, stopped
from tests.reliability.stage import COLUMNS, FAKE, Stage, cases, rows


def _measured(stage: Stage, code: int, streams: dict[int, str]) -> Outcome:
    done = stage.run(hooks=Hooks(streams=streams))
    assert done.code == code, done
    left = rows(stage.out)
    assert cases(left) == len(COLUMNS), "all of it was measured"
    seen = said(done) if done.err else "nothing"
    return Outcome(seen.partition(": ")[0], done.code, len(left), resumed(stage, left))


for _name, _title, _code, _streams in (
    ("output_unread", "nobody reads standard output any more (`| true`)", 141, {1: "unread"}),
    ("output_closed", "standard output closed (`>&-`)", 0, {1: "closed"}),
    ("messages_unread", "nobody reads standard error any more", 0, {2: "unread"}),
):
    FAULTS[_name] = Fault(_title, partial(_measured, code=_code, streams=_streams), (FAKE,))


@fault("SIGHUP, as of a terminal that is closed", FAKE)
def hung_up(stage: Stage) -> Outcome:
    return stopped(stage, signal.SIGHUP)
