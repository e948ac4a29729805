"""nginx before the workbench, with the very configuration that the document shows, and a certificate of its own."""

import contextlib
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.operations.sites import ROOT, a_port

NAME = "localhost"
SHOWN = re.compile(r"```nginx\n(.*?)```", re.DOTALL)
MAIN = """
pid {folder}/nginx.pid;
error_log {folder}/error.log;
daemon off;
worker_processes 1;
{user}
events {{ worker_connections 128; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    {sites}
}}
"""


def shown(*, document: str, port: int, plain_port: int, upstream: str, folder: Path) -> str:
    """Return the configuration shown in `document`, with the ports, names and files of this test."""
    (text,) = SHOWN.findall((ROOT / "workbench" / document).read_text("utf-8"))
    changes = {
        "listen 443 ssl": f"listen 127.0.0.1:{port} ssl",
        "listen 80": f"listen 127.0.0.1:{plain_port}",
        "127.0.0.1:8000": upstream,
        "workbench.example.org": NAME,
        "/etc/ssl/workbench.pem": f"{folder}/certificate.pem",
        "/etc/ssl/private/workbench.key": f"{folder}/key.pem",
    }
    for before, after in changes.items():
        assert before in text, before
        text = text.replace(before, after)
    return text


@contextlib.contextmanager
def proxied(folder: Path, upstream: str, *, document: str = "DEPLOYING.md") -> Iterator[tuple[str, str]]:
    """Run nginx until the end of the block; gives the addresses with TLS and without."""
    path = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin")
    if not path:
        pytest.skip("Install nginx (Debian: apt-get install nginx-light).")
    port, plain_port = a_port(), a_port()
    make_certificate(folder)
    sites = shown(
        document=document,
        port=port,
        plain_port=plain_port,
        upstream=upstream.removeprefix("http://"),
        folder=folder,
    )
    user = "user root;" if os.geteuid() == 0 else ""
    (folder / "nginx.conf").write_text(MAIN.format(folder=folder, sites=sites, user=user))
    process = subprocess.Popen(
        [path, "-p", str(folder), "-e", str(folder / "start.log"), "-c", str(folder / "nginx.conf")]
    )
    try:
        _wait(f"http://{NAME}:{plain_port}/", process, folder)
        yield f"https://{NAME}:{port}", f"http://{NAME}:{plain_port}"
    finally:
        process.terminate()
        process.wait(timeout=30)


def make_certificate(folder: Path) -> None:
    """Make a key and a certificate signed with it, good for an hour."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, NAME)])
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    made = made.serial_number(x509.random_serial_number()).not_valid_before(now - timedelta(minutes=1))
    made = made.not_valid_after(now + timedelta(hours=1))
    made = made.add_extension(x509.SubjectAlternativeName([x509.DNSName(NAME)]), critical=False)
    made = made.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / "key.pem").write_bytes(private)
    (folder / "certificate.pem").write_bytes(
        made.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    )


def _wait(url: str, process: subprocess.Popen[bytes], folder: Path) -> None:
    for _ in range(200):
        assert process.poll() is None, (folder / "error.log").read_text()
        with contextlib.suppress(httpx.TransportError):
            httpx.get(url, trust_env=False)
            return
        time.sleep(0.05)
    raise AssertionError((folder / "error.log").read_text())
