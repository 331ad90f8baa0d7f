"""The gateway as an HTTP service: routes, authentication, downloads, background tasks."""
