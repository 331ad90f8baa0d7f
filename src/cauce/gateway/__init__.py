"""The gateway: validates requests, appends them to the fabric and serves what is stored there. Computes no answers."""
