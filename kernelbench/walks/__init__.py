"""The walks through the rooms: run, check, explain, compare, report, tune. Only they know the order of rooms."""
