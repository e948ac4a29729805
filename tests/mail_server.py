"""A mail server of the tests: it takes what it is sent, and can refuse, hang up or hold its answer back."""

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any


class MailServer(socketserver.ThreadingTCPServer):
    """`delivered` holds every message whose whole text has arrived, whatever was answered then."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Talk)
        self.delivered: list[EmailMessage] = []
        self.refused: set[str] = set()  # addresses nobody of which is known here
        self.hangs_up = False  # after a whole text, without an answer
        self.answers = threading.Event()  # while it is not set, the answer to a whole text is held back
        self.answers.set()
        self.holding = threading.Event()

    @property
    def url(self) -> str:
        return f"smtp://127.0.0.1:{self.server_address[1]}"

    @property
    def subjects(self) -> list[str]:
        return [message["Subject"] for message in self.delivered]


class _Talk(socketserver.StreamRequestHandler):
    server: MailServer

    def handle(self) -> None:
        self.say("220 here")
        while line := self.rfile.readline():
            word, rest = line[:4].decode().upper(), line.decode()
            if word == "QUIT":
                return self.say("221 bye")
            if word == "RCPT" and any(address in rest for address in self.server.refused):
                self.say("550 nobody")
            elif word == "DATA":
                self.say("354 go on")
                if not self.take():
                    return None
            else:
                self.say("250 fine")
        return None

    def take(self) -> bool:
        text = b""
        while (line := self.rfile.readline()) not in (b".\r\n", b""):
            text += line
        self.server.delivered.append(message_from_bytes(text, policy=policy.default))
        self.server.holding.set()
        if self.server.hangs_up:
            return False
        self.server.answers.wait(60)
        self.say("250 taken")
        return True

    def say(self, line: str) -> None:
        try:
            self.wfile.write(line.encode() + b"\r\n")
        except OSError:
            return  # whoever asked was killed


@contextmanager
def mail_server() -> Iterator[MailServer]:
    """Run a mail server in a thread of its own for as long as the block lasts."""
    with MailServer() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield server
        finally:
            server.answers.set()
            server.shutdown()
            thread.join()


def mailers_of(server: MailServer) -> dict[str, Any]:
    """Return the MAILERS setting that uses `server`."""
    from workbench.environment import read_mailer

    return {"default": read_mailer({"X": server.url}, "X")}
