"""Settings of a broker that the fabric relies on, and checks of them."""
