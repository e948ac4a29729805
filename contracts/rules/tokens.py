"""What a worker proves itself with: a token that says what it is, and is known to be whole before it is looked up.

`rsw_`, then 160 random bits and a checksum in base 32: a program that searches for leaked secrets finds it, and a
mistyped or cut one costs no question to the database. (After the format of GitHub's tokens.)
"""

import base64
import hashlib
import re
import zlib

from contracts.rules.fields import Field, Kind
from contracts.rules.vocabulary import LINE_MAX
from contracts.rules.words import N_

PREFIX = "rsw_"
SECRET_BYTES = 20
CHECK_BYTES = 4  # CRC-32
SHAPE = re.compile(PREFIX + "[a-z2-7]{39}")
LONGEST_DAYS = 7
OVERLAPPING = 2  # tokens of one worker that may reach one contract at the same time
WORKER = Field(
    "worker",
    Kind.ID,
    N_("Worker"),
    N_("The name under which the worker's acts are recorded, such as “label-writer”."),
    required=True,
    limit=LINE_MAX,
)
DAYS = Field("days", Kind.WHOLE, N_("Good for (days)"), required=True, low=1, high=LONGEST_DAYS)


def make_token(secret: bytes) -> str:
    """Return the token that holds `secret`, SECRET_BYTES from the system's generator."""
    if len(secret) != SECRET_BYTES:
        raise ValueError(f"a token holds {SECRET_BYTES} bytes")
    whole = secret + zlib.crc32(PREFIX.encode() + secret).to_bytes(CHECK_BYTES)
    return PREFIX + base64.b32encode(whole).decode().rstrip("=").lower()


def is_token(text: str) -> bool:
    """Tell whether `text` has the shape of a token and its checksum is right."""
    if not SHAPE.fullmatch(text):
        return False
    whole = base64.b32decode(text.removeprefix(PREFIX).upper() + "=")
    return make_token(whole[:SECRET_BYTES]) == text


def token_digest(token: str) -> str:
    """Return what is stored of a token: its SHA-256, 64 hexadecimal digits."""
    return hashlib.sha256(token.encode()).hexdigest()
