"""HTTP around the service: from a connection to a route and back.

`server` sets up uvicorn with `protocol`, which keeps `connections` within their limits; `app` joins the `routes`;
`keys` decides who may come in; `answers` reads bodies and shapes what goes out; `telemetry` tells operators about it.
"""
