"""Files for Docker Compose or Kubernetes that run a service and its RabbitMQ cluster.

`templates/` holds the files with placeholders, `plan.py` the options; `writing.py` writes the files. OpenSSL
issues the certificates; no other process is started, and no network is used.
"""
