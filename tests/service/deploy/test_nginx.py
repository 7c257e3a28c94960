"""The service behind nginx with the configuration of deploy/: over TLS, on ports of its own, where there is nginx."""

from __future__ import annotations

import re
import shutil
import socket
import ssl
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from fairexp.service.http.answers import BODY_SECONDS
from fairexp.service.http.keys import make_key
from fairexp.service.settings import ServerSettings
from fairexp.service.store import open_store
from tests.service.deploy.names import DEPLOY
from tests.service.live import Live
from tests.service.worlds import rank_body
from tests.waiting import SECONDS, until

CONFIGURATION = DEPLOY / "nginx" / "fairexp.conf"
SIZES = {"": 1, "k": 2**10, "m": 2**20}
NEEDED = [name for name in ("nginx", "openssl") if shutil.which(name) is None]
installed = pytest.mark.skipif(bool(NEEDED), reason=f"not installed here: {', '.join(NEEDED)}")


def value(name: str) -> str:
    found = re.search(rf"^\s*{name} (.*?);", CONFIGURATION.read_text(), re.MULTILINE)
    assert found, name
    return found.group(1)


def n_bytes(text: str) -> int:
    return int(text.rstrip("km")) * SIZES[text.lstrip("0123456789")]


def test_limits_fit_those_of_the_service() -> None:
    settings = ServerSettings()
    largest = max(settings.max_body_bytes, settings.max_feedback_bytes, settings.max_policy_bytes)
    assert largest < n_bytes(value("client_max_body_size")) < 1.1 * largest
    number, size = value("large_client_header_buffers").split()
    assert int(number) * n_bytes(size) + 500 < settings.max_header_bytes, "nginx adds some headers itself"
    assert value("client_header_timeout") == f"{settings.header_seconds:g}s"
    assert value("client_body_timeout") == f"{BODY_SECONDS:g}s"
    at_rest = re.search(r"upstream fairexp \{.*?keepalive_timeout (\d+)s;.*?\}", CONFIGURATION.read_text(), re.DOTALL)
    assert at_rest and int(at_rest.group(1)) < settings.idle_seconds
    assert int(value("proxy_read_timeout").rstrip("s")) > BODY_SECONDS


class Proxy:
    """nginx over TLS in front of a port of this machine, in a folder of its own."""

    def __init__(self, folder: Path, upstream: int) -> None:
        self.folder = folder
        plain, self.port = free_port(), free_port()
        subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
        made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *subject]
        subprocess.run([*made, "-keyout", folder / "key.pem", "-out", folder / "cert.pem"], check=True, stderr=-3)
        own = CONFIGURATION.read_text().replace("127.0.0.1:8000", f"127.0.0.1:{upstream}")
        own = re.sub(r"\n\s*listen \[::\]:.*", "", own)
        own = own.replace("listen 80;", f"listen 127.0.0.1:{plain};").replace(
            "listen 443", f"listen 127.0.0.1:{self.port}"
        )
        (folder / "fairexp.conf").write_text(own.replace("/etc/nginx/fairexp/", f"{folder}/"))
        paths = "".join(
            f"{kind}_temp_path {folder}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        (folder / "nginx.conf").write_text(
            f"daemon off;\nmaster_process off;\npid {folder}/pid;\nevents {{}}\n"
            f"http {{\naccess_log off;\n{paths}include {folder}/fairexp.conf;\n}}\n"
        )
        self.command = ["nginx", "-p", str(folder), "-c", str(folder / "nginx.conf"), "-e", str(folder / "error.log")]
        checked = subprocess.run([*self.command, "-t"], capture_output=True, text=True)
        assert checked.returncode == 0, checked.stderr
        self.process = subprocess.Popen(self.command)
        self.client = httpx.Client(
            base_url=f"https://localhost:{self.port}",
            verify=ssl.create_default_context(cafile=str(folder / "cert.pem")),
            timeout=SECONDS,
        )
        until(self.listens, "nginx did not start")

    def listens(self) -> bool:
        assert self.process.poll() is None, (self.folder / "error.log").read_text()
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def stop(self) -> None:
        self.client.close()
        self.process.terminate()
        self.process.wait(SECONDS)


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@pytest.fixture
def behind(live: Callable[..., Live], sqlite_address: str, tmp_path: Path) -> Iterator[tuple[Live, Proxy]]:
    """A closed service behind nginx, and a client of nginx with a key."""
    store = open_store(sqlite_address)
    store.open(serving=False)
    _, token = make_key(store, name="test", roles=["admin"])
    store.close()
    running = live(sqlite_address, open=False)
    (tmp_path / "nginx").mkdir()
    proxy = Proxy(tmp_path / "nginx", running.port)
    proxy.client.headers["Authorization"] = f"Bearer {token}"
    yield running, proxy
    proxy.stop()


@installed
def test_rank_feedback_and_page_over_the_proxy(behind: tuple[Live, Proxy]) -> None:
    client = behind[1].client
    ranked = client.post("/v1/policies/shop/rank", json=rank_body(), headers={"X-Request-ID": "mine.1"})
    assert ranked.status_code == 200 and ranked.headers["X-Request-ID"] == "mine.1"
    told = {"ranking_id": ranked.json()["ranking_id"], "events": [{"id": "e", "position": 1}]}
    learned = client.post("/v1/feedback", json=told)
    assert learned.json()["results"][0]["status"] == "learned"
    assert re.fullmatch(r"[0-9a-f]{32}", learned.headers["X-Request-ID"]), "nginx's own"
    page = client.get("/")
    assert page.status_code == 200 and "default-src 'none'" in page.headers["Content-Security-Policy"]
    for name in re.findall(r'(?:src|href)="(static/\w+\.\w+|/static/\w+\.\w+)"', page.text):
        found = client.get("/" + name.lstrip("/"))
        assert found.status_code == 200 and found.headers["Content-Encoding"] == "gzip", name
    assert client.get("/v1/policies/shop/charts").json()["charts"]
    assert 'fairexp_rankings_total{policy="shop"} 1.0' in client.get("/metrics").text


@installed
def test_limits_over_the_proxy(behind: tuple[Live, Proxy]) -> None:
    client, most = behind[1].client, ServerSettings().max_body_bytes
    longer = client.post("/v1/policies/shop/rank", content=b" " * (most + 1))
    assert longer.status_code == 413 and longer.json()["error"]["code"] == "body_too_large", "the service's own"
    assert client.post("/v1/policies/shop/rank", content=b" " * (most + 2**18)).status_code == 413
    assert client.get("/v1/policies", headers={"Authorization": "Bearer fx_no"}).json()["error"]["request_id"]


@installed
def test_a_service_that_is_away_is_told_in_its_own_shape(behind: tuple[Live, Proxy]) -> None:
    running, proxy = behind
    running.stop()
    answer = proxy.client.get("/v1/policies", headers={"X-Request-ID": "mine.2"})
    assert answer.status_code == 503 and answer.headers["Retry-After"] == "1"
    error = answer.json()["error"]
    assert (error["code"], error["request_id"], set(error)) == (
        "not_reached",
        "mine.2",
        {"code", "message", "field", "request_id"},
    )


@installed
def test_an_open_service_refuses_what_this_proxy_passes_on(
    live: Callable[..., Live], sqlite_address: str, tmp_path: Path
) -> None:
    running = live(sqlite_address)
    proxy = Proxy(tmp_path, running.port)
    try:
        assert running.client.get("/v1/policies").status_code == 200
        answer = proxy.client.get("/v1/policies")
        assert answer.status_code == 403 and answer.json()["error"]["code"] == "host_not_allowed"
    finally:
        proxy.stop()
