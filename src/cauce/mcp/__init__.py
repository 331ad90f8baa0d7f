"""`cauce mcp`: a server of the Model Context Protocol, through which a program lists tables and asks SQL. Every result
is bounded. Needs the extra `cauce[mcp]`."""
