"""A run on disk: written row by row, resumed, read back and checked."""
