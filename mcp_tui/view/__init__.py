"""Texts for the screen, as pure functions of requests and the time. No module here imports Textual."""
