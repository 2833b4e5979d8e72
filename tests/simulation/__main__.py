"""``python -m tests.simulation SEED…``: schedules, with their dialogues."""

from __future__ import annotations

import sys

from tests.simulation.run import play

for seed in map(int, sys.argv[1:]):
    world = play(seed)
    print(world.plan)
    print(world.dialogue())
