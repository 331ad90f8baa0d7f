"""Options and arguments of commands: how they are declared, parsed and converted."""
