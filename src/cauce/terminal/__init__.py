"""Messages, tables and progress for people at a terminal or in a notebook. Prints; decides nothing."""
