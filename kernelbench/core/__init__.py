"""Records, errors, units and what else all rooms stand on. Imports nothing above it."""
