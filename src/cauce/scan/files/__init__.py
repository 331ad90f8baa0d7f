"""Access to the bytes of files: opening, byte ranges, decompression. Knows no format."""
