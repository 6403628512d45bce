"""`python -m kernelbench` and the command `kernelbench`: the command line in a process of its own."""

import atexit
import sys


def main() -> None:
    """Run the command line and end the process with its exit code.

    Nothing is asked on the way out: no thread that a user's code left running, and no library, whose clean-up may
    crash. Python itself would turn 143 into 130 where the signal had come within an exec.
    """
    try:
        from kernelbench.cli import commands
        from kernelbench.planning import user_code
    except KeyboardInterrupt:  # before the command line is there to hear it
        sys.exit(130)
    try:
        commands.main()
    except SystemExit as ended:
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        user_code.end_process(int(ended.code or 0))


if __name__ == "__main__":
    main()
