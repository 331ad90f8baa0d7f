"""Commands for trying and testing the system: demo, chaos, data generators, private brokers, deployment files."""
