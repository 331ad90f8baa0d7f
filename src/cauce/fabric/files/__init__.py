"""The fabric of one machine: logs are directories of segments, leases are file locks."""
