"""How a command line ended: each takes the exit code, stdout and stderr that the fixture `command` gives."""

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
    """What one printed that ended well and had nothing else to say."""
    assert (done[0], done[2]) == (0, ""), done
    return done[1]
