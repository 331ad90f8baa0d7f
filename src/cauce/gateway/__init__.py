"""What stands between clients and the fabric: checks, appends, and answers for what is held. Computes nothing."""
