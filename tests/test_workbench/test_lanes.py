import threading
from io import BytesIO

import pytest

from workbench.lanes import ARRIVES_WHOLE, Lanes

PATIENCE = 30.0


class Answering:
    """An application that notes what it reads and how many requests it works on at once."""

    def __init__(self):
        self.read, self.now, self.most = [], 0, 0
        self.lock, self.go_on = threading.Lock(), threading.Event()

    def __call__(self, environ, start_response):
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)
        self.go_on.wait(PATIENCE)
        self.read.append(environ["wsgi.input"].read())
        with self.lock:
            self.now -= 1
        start_response("200 OK", [])
        return [b"done"]


@pytest.fixture
def answering():
    return Answering()


def asked(application, body=b"", length=None):
    said = []
    environ = {"wsgi.input": BytesIO(body), "CONTENT_LENGTH": str(len(body)) if length is None else length}
    application(environ, lambda status, _: said.append(status))
    return said


def crowd(application, answering, most):
    threads = [threading.Thread(target=asked, args=(application, b"x")) for _ in range(12)]
    for thread in threads:
        thread.start()
    while answering.most < most:
        assert any(thread.is_alive() for thread in threads)
    answering.go_on.set()
    for thread in threads:
        thread.join(PATIENCE)
    return answering.most


def test_no_more_are_worked_on_at_once_than_there_are_lanes(answering):
    assert crowd(Lanes(answering, 3), answering, 3) == 3
    assert answering.read == [b"x"] * 12


def test_control_without_lanes_all_are_worked_on_at_once(answering):
    assert crowd(answering, answering, 12) == 12


@pytest.mark.parametrize("length", [None, "", "nonsense"])
def test_a_body_arrives_as_it_was_sent(answering, length):
    answering.go_on.set()
    assert asked(Lanes(answering, 1), b"a=1&b=2", length) == ["200 OK"]
    assert answering.read == [b"a=1&b=2"]


def test_what_is_too_large_to_be_kept_is_left_to_whoever_refuses_it(answering):
    answering.go_on.set()
    assert asked(Lanes(answering, 1), b"beginning", str(ARRIVES_WHOLE + 1)) == ["200 OK"]


def test_a_body_that_ends_before_its_length_is_nobodys_request(answering):
    answering.go_on.set()
    assert asked(Lanes(answering, 1), b"login=olga&pass", "1000") == ["400 Bad Request"]
    assert answering.read == []
