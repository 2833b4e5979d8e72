"""The transports, which carry messages to a server and back: stdio, streamable HTTP, and the HTTP+SSE of 2024-11-05."""
