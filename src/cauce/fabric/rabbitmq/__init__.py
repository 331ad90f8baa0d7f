"""The fabric of a RabbitMQ cluster: logs are parts of streams, leases are unacknowledged messages."""
