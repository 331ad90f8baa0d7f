"""Private RabbitMQ nodes on this machine, for trying and for tests. Never touches a broker of the system."""
