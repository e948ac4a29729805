"""A name that leads elsewhere when it is looked up once more takes no write along."""

import http.client
import socket
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_network

import pytest

from contracts.gates.workers.carrying import way_to
from contracts.rules.ledger import Reported
from contracts.rules.proxying import Allowed, Place, Proxy, Target, may_reach

NAME = "cms.example"
ALLOWED, INNER = "127.0.0.1", "127.0.0.2"


class Kept(BaseHTTPRequestHandler):
    """Notes at which address it was reached."""

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.server.reached.append(self.server.server_address[0])
        self.send_response(201)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        return


@contextmanager
def listening(host, port, reached):
    server = ThreadingHTTPServer((host, port), Kept)
    server.reached = reached
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def reached():
    return []


@pytest.fixture
def proxy(reached):
    """Two systems at one port: the one on the list, and one that must not be reached."""
    with listening(ALLOWED, 0, reached) as port, listening(INNER, port, reached):
        cms = Target("cms", False, NAME, port)
        yield Proxy({"cms": cms}, (Allowed(ip_network(f"{ALLOWED}/32"), port),), 10.0)


@pytest.fixture(autouse=True)
def rebound(monkeypatch):
    """Let the name lead to the listed address when it is first looked up, and elsewhere ever after."""
    real, answers = socket.getaddrinfo, [ALLOWED]

    def resolve(host, *given, **more):
        found = (answers.pop() if answers else INNER) if host == NAME else host
        return real(found, *given, **more)

    monkeypatch.setattr(socket, "getaddrinfo", resolve)


def test_a_name_that_leads_elsewhere_the_second_time_is_followed_only_the_first(proxy, reached):
    with way_to(Place(proxy.targets["cms"], "/pages/one"), proxy) as way:
        assert way.carry(b"{}", {}).result is Reported.CONFIRMED
    assert reached == [ALLOWED]


def test_control_checking_a_name_and_then_connecting_to_it_reaches_the_other_system(proxy, reached):
    port = proxy.targets["cms"].port
    ((*_, (address, _)),) = socket.getaddrinfo(NAME, port, socket.AF_INET, socket.SOCK_STREAM)
    assert may_reach(proxy, address, port)
    line = http.client.HTTPConnection(NAME, port, timeout=10)
    line.request("POST", "/pages/one", b"{}")
    assert line.getresponse().status == 201
    line.close()
    assert reached == [INNER]
