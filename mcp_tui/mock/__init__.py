"""The mock: a server that answers as a recording did, on the demo server's transports."""
