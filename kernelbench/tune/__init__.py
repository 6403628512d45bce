"""The search of `kernelbench tune` for launch parameters, and the tables by GPU that plans read what it found from."""
