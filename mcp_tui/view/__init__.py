"""The words on the screen, as pure functions of requests and the time. Nothing here imports Textual."""
