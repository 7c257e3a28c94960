"""Carrying out: from runs to records.

`probes` try each kind of run and tell its pace, from which `plan` says how long it will take; an executor (`local`
processes or a Ray `cluster`, through the process of its `ray_driver`) plays each `task`, and `records` keeps what came
of it. `experiments.conduct` leads.
"""
