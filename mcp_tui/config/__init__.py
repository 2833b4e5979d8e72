"""The user's files: settings, saved calls, and the config files that define servers. No module here imports Textual."""
