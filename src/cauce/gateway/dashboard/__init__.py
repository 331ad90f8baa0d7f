"""Routes and data of the dashboard and of the cluster pages."""
