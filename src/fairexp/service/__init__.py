"""The service: rank, learn and stay fair in production. It comes with the extra `fairexp[service]`."""
