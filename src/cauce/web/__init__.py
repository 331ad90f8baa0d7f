"""The dashboard's files: plain HTML, CSS and ES modules. Nothing is built or fetched, and nothing here computes."""
