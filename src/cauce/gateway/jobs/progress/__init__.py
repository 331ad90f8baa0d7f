"""Progress of a job for people: history of its workers, plan with counters, timeline, bottleneck."""
