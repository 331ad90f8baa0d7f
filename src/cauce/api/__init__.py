"""Messages and names of the HTTP API, shared by gateway and client. `formats` and `http` import no library."""
