"""The store of a live session, its journal on disk, and the reader of recordings."""
