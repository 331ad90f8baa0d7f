"""Name resolution and type inference: syntax trees to the typed tree. Everything that is not supported ends here."""
