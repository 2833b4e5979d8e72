"""The data behind the screens: a live session, a recording, or a running session of another process."""
