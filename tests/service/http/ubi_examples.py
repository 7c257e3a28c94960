"""Queries and events as the schemas of User Behavior Insights 1.3 and its samples have them."""

from __future__ import annotations

from typing import Any

QUERY: dict[str, Any] = {
    "application": "primary-search",
    "query_id": "00112233-4455-6677-8899-aabbccddeeff",
    "client_id": "5e3b2a1c-8b7d-4f2e-a3d4-c9b2e1f3a4b5",
    "user_query": "toner",
    "query_attributes": {"page": 1},
    "object_id_field": "sku",
    "timestamp": "2018-11-13T20:20:39+00:00",
    "query_response_id": "5e3b2a1c-8b7d-4f2e-a3d4-c9b2e1f3a4b5",
    "query_response_hit_ids": ["B07XLFYN6S", "B013UFPODY", "B07SHS91DQ"],
}
EVENT: dict[str, Any] = {
    "application": "primary-search",
    "action_name": "click",
    "query_id": "00112233-4455-6677-8899-aabbccddeeff",
    "session_id": "84266fdbd31d4c2c6d0665f7e8380fa3",
    "client_id": "5e3b2a1c-8b7d-4f2e-a3d4-c9b2e1f3a4b5",
    "user_id": "5e3b2a1c-8b7d-4f2e-a3d4-c9b2e1f3a4b5",
    "timestamp": "2018-11-13T20:20:39Z",
    "message_type": "CONVERSION",
    "message": "clicked",
    "event_attributes": {
        "object": {"object_id": "XYZ-12345", "object_id_type": "product", "object_id_field": "sku"},
        "position": {"ordinal": 3},
    },
}
PAGE_EXIT: dict[str, Any] = {
    "action_name": "page_exit",
    "user_id": "1821196507152684",
    "query_id": "00112233-4455-6677-8899-aabbccddeeff",
    "session_id": "c3d22be7-6bdc-4250-91e1-fc8a92a9b1f9",
    "page_id": "/docs/latest/",
    "timestamp": "2024-05-16T12:34:56.789Z",
    "message_type": "INFO",
    "message": "On page /docs/latest/ for 3.35 seconds",
    "event_attributes": {"position": {}, "object": {"idleTimeoutMs": 5000, "isUserCurrentlyOnPage": True}},
}
SPOT: dict[str, Any] = {
    "action_name": "view",
    "timestamp": "2018-11-13T20:20:39",
    "event_attributes": {"position": {"xy": {"x": 20.5, "y": 3}}},
}
