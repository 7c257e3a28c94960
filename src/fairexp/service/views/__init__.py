"""What people see of policies: `reports` as data, `explain` for one ranking, and the `page`."""
