"""How a command line ended: each takes the exit code, stdout and stderr that the fixture `command` gives."""

import re

Done = tuple[int, str, str]


def ended(code: int, done: Done) -> tuple[str, str]:
    """Stdout and stderr of one that ended with `code`."""
    assert done[0] == code, done
    return done[1:]


def refused(done: Done) -> str:
    """What one said that was refused before it printed anything."""
    assert done[:2] == (2, ""), done
    return done[2]


def printed(done: Done) -> str:
    """What a command printed that ended well. On stderr it may only have told its progress, as it does every 30 s."""
    said = re.sub(r"^\[\d+/\d+\] .* left\n", "", done[2], flags=re.MULTILINE)
    assert (done[0], said) == (0, ""), done
    return done[1]
