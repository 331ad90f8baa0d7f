"""Commands that use or operate a running service: jobs, uploads, processes of the cluster."""
