"""`python -m kernelbench` is the command `kernelbench`."""

from kernelbench.cli import main

if __name__ == "__main__":
    main()
