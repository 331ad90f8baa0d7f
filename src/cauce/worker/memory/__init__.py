"""The memory budget of a worker: the account of its tasks, and temporary files for folds that exceed their share."""
