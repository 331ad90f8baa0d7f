"""`cauce run` on this machine: worker pool, local client, result files, work directory."""
