"""Plain values of the supervisor: messages, names, process table, desired state, actions. No I/O."""
