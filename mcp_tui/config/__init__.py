"""The user's files: themes, settings, keys, and servers. Knows neither Textual nor the wire."""
