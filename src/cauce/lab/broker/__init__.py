"""Private RabbitMQ nodes on this machine, for experiments and tests. Never touches a broker of the system."""
