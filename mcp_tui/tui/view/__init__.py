"""What the screen says, as pure functions of requests and the time. Nothing here imports Textual."""
