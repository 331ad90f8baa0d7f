"""Programs that measure Cauce: `./cauce bench`, and scripts for memory, recovery and the journal's cost."""
