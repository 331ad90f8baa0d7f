"""Tools not needed to answer queries: simulation, fault injection, data generators, private brokers, deployment."""
