"""The laboratory: data, simulated users, runs, metrics, experiments, and logs of the past."""
