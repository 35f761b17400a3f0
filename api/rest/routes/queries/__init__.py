"""Routes that read events: queries, jobs, statistics, and one event with its neighbours."""
