"""The plan of faults, the processes that they hit, and the history of faults and recoveries."""
