"""The typed tree to relations of the plan language."""
