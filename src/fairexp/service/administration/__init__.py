"""What administrators do to policies.

A `change` is asked for and described; `changes` carries it out on an engine: declares, changes, rolls back, resets and
deletes; `declaration` holds what a file declares against what was changed since; `next_version` says what a version
takes over, gains and loses; `entries` are what the store keeps of it; `actions` reads back what was done.
"""
