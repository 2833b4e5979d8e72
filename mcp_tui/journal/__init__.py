"""What happened, kept: the store of a live session, its journal on disk, and recordings read back."""
