"""HTTP around the engine: from a connection to a route and back.

`server` sets up uvicorn with `protocol`, which keeps `connections` within their limits; `app` joins the `routes`;
`keys` says whose key it is, and `permission` what it may do; `ids` takes ids from paths and queries; `service` has
what routes call, and starts and stops all;
`answers` reads bodies and shapes what goes out, as `schemas` and `openapi` document it; `metrics` and `json_log` tell
operators about it.
"""
