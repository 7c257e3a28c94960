"""The service: rank, learn and stay fair in production. It comes with the extra `fairexp[service]`.

A request comes in through `http`, which has its body read by `bodies` and has it ranked or learned from by the
`engine`, whose steps go to the `log` and into the `store`. `policies` says what is served, `administration` changes
it, and `views` tells about it. `settings`, `limit` and `problems` are for all of them.
"""
