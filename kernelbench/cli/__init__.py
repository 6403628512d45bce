"""The command line: options, exit codes, progress, and what is printed."""
