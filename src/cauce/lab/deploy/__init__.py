"""Files for Docker Compose or Kubernetes that run a service and its RabbitMQ cluster.

`templates/` holds the files with placeholders, `plan.py` the options; `writing.py` writes the files. Nothing here
starts a process or uses a network.
"""
