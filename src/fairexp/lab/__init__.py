"""The laboratory: data, simulated users, runs, metrics, experiments, and logs of the past. Extra: `fairexp[lab]`."""

from fairexp.extras import require

require("lab", "fairexp.lab", "pyarrow", "pydantic", "yaml")
