"""What there is to run, and a launch plan for every case, or the reason why there is none."""
