"""Whole sessions under a virtual clock: the real client, ledger and transports, a scripted network, servers that misbehave.

A schedule is made from one integer. What replaces the world begins below the transports: a process without a process
behind the stdio transport (:mod:`.pipes`), exchanges without sockets behind the HTTP ones (:mod:`.web`); everything
above is the product, untouched. ``python -m tests.simulation SEED`` plays one schedule and shows its dialogue.
"""

from __future__ import annotations
