"""Datagrams between processes: authenticated envelopes, replay protection, UDP sockets."""
