"""Commands that play experiments: `experiment` from YAML, `reproduce` the paper's, `frontier` what fairness costs."""
