"""Connections to a broker: the AMQP library, the thread that owns a connection, the split-brain probe."""
