"""Files with which Docker Compose or Kubernetes run a service and its RabbitMQ cluster.

`plan.py` says what is wanted, `compose.py` and `kubernetes.py` make files of it, `writing.py` puts them on the disk.
Nothing here starts anything or speaks to a network.
"""
