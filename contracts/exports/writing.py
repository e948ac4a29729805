"""From lines to bytes: UTF-8, LF, in pieces that fit a network packet or two."""

import hashlib
from collections.abc import Iterable, Iterator
from typing import IO

PIECE_CHARS = 64 * 1024


def in_pieces(lines: Iterable[str]) -> Iterator[bytes]:
    """Yield `lines`, each closed by LF, as UTF-8 in larger pieces; memory does not grow with their number."""
    waiting: list[str] = []
    length = 0
    for line in lines:
        waiting.append(line)
        length += len(line)
        if length > PIECE_CHARS:
            waiting.append("")
            yield "\n".join(waiting).encode()
            waiting, length = [], 0
    if waiting:
        waiting.append("")
        yield "\n".join(waiting).encode()


def digest_of(pieces: Iterable[bytes]) -> str:
    """Return the SHA-256 of `pieces` put together."""
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
    return digest.hexdigest()


def write_pieces(pieces: Iterable[bytes], file: IO[bytes]) -> str:
    """Write `pieces` into `file` and return the SHA-256 of what was written."""
    digest = hashlib.sha256()
    for piece in pieces:
        file.write(piece)
        digest.update(piece)
    return digest.hexdigest()
