"""What carries logs and leases."""
