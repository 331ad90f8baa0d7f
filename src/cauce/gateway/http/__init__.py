"""The HTTP application: routes, authentication, downloads, OpenAPI document."""
