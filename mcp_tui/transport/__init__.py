"""How frames reach a server and come back: stdio, streamable HTTP, and the HTTP+SSE of 2024-11-05."""
