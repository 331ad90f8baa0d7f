"""The dashboard's files: plain HTML, CSS and ES modules. No build step, no external resources, no computation."""
