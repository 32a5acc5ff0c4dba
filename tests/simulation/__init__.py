"""Simulated histories: many processes on one table, under one scheduler, one clock and faults, all by one seed.

The core is synchronous and reaches the world through `FileIO`, the clock and random numbers. So each process of a
history is a greenlet that stops at every call of its storage; which one goes on is decided by virtual time alone:
calls take some, steps start at some, faults add some. The same history therefore always runs in the same way
(`scheduler.py`, `processes.py`, `storage.py`).

A history is a value (`history.py`): what the table is, and steps, each with a host, a start and its faults. A seed
gives one (`generate.py`), `steps/` does what its steps say, `observer.py` watches the storage and knows by a model of
dictionaries (`model.py`) which rows every snapshot must have, and `checks.py` compares. `shrink.py` leaves out of a
history that fails whatever it does not need, and `story.py` tells it. `planted_bugs.py` are mistakes to be found.
"""
