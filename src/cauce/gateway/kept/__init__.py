"""Kept datasets: tables that the service stores under a name, and jobs over them. All state is on the fabric."""
