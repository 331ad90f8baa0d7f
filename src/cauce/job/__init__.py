"""The protocol of a job on its logs: manifest, topology, part codec, receipts, outcome."""
