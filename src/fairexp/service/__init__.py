"""The service: rank, learn and stay fair in production. It comes with the extra `fairexp[service]`.

A request comes in through `http`. `requests` reads its body, and the `engine` ranks or learns. Each step goes to the
`log` and into the `store`. `policies` declare what is served, `changes` applies a change to one, and `views` reports.
`items` and `totals` are kept for each policy. `settings`, `limit` and `problems` serve all of them.
"""

from fairexp.extras import require

require(
    "service", "fairexp.service", "fastapi", "uvicorn", "httpx", "msgspec", "orjson", "prometheus_client", "pydantic"
)
