"""Storage for logs and leases: one contract, three implementations (files, RabbitMQ, memory)."""
