"""Programs that measure Cauce: `./cauce bench`, and scripts that measure one property each."""
