"""An interactive terminal client for MCP, the Model Context Protocol.

Importing this package loads nothing else: headless commands start in the time they need, no more.
"""

__version__ = "0.1.0"
