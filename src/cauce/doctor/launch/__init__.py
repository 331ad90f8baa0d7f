"""Starting processes on this host, as forks or containers, and the directory of the service there."""
