"""The transports, which carry messages to and from a server: stdio, streamable HTTP, and HTTP+SSE (2024-11-05)."""
