"""What a shell, a terminal and whoever reads the output can do to a run."""

import signal

from tests.reliability.child import Hooks
from tests.reliability.faults import Outcome, fault, resumed, said, stopped
from tests.reliability.stage import COLUMNS, FAKE, Stage, cases, rows


def _measured(stage: Stage, code: int, streams: dict[int, str]) -> Outcome:
    done = stage.run(hooks=Hooks(streams=streams))
    assert done.code == code, done
    left = rows(stage.out)
    assert cases(left) == len(COLUMNS), "all of it was measured"
    seen = said(done) if done.err else "nothing"
    return Outcome(seen.partition(": ")[0], done.code, len(left), resumed(stage, left))


@fault("nobody reads standard output any more (`| true`)", FAKE)
def output_unread(stage: Stage) -> Outcome:
    return _measured(stage, 141, {1: "unread"})


@fault("standard output closed (`>&-`)", FAKE)
def output_closed(stage: Stage) -> Outcome:
    return _measured(stage, 0, {1: "closed"})


@fault("nobody reads standard error any more", FAKE)
def messages_unread(stage: Stage) -> Outcome:
    return _measured(stage, 0, {2: "unread"})


@fault("SIGHUP, as of a terminal that is closed", FAKE)
def hung_up(stage: Stage) -> Outcome:
    found = stopped(stage, signal.SIGHUP)
    assert found.exit_code == 129
    return found
