"""What each command does, room by room: run, check, explain, compare, report, tune. Only walks know the order."""
