"""Parts of the screens of a session and of a recording, each with its own state."""
