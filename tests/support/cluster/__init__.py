"""A standalone cluster of Spark on this machine: a master and workers as processes, whose executors can be killed."""
