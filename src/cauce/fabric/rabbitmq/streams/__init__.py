"""Reading and writing streams: messages, subscriptions, readers, writers."""
