"""A document from outside, read whole: strict JSON first, then every rule of a contract."""

from contracts.rules import strictjson
from contracts.rules.document import Document, check_document
from contracts.rules.vocabulary import IMPORT_MAX_BYTES

MAX_DEPTH = 40  # the document, a list, a row, and a JSON field of 32 levels within
MAX_ITEMS = 1_000_000  # rows of one list; the size in bytes is the nearer limit


def read_document(content: bytes, *, task_id: str = "") -> Document:
    """Return the document in `content` with every problem found, by JSON pointer; nothing is stored.

    `task_id` replaces the one it bears. Content that is no strict JSON at all gives one problem. The answer
    goes to `gates.creating.create_contract`, which stores nothing while there are problems.
    """
    try:
        raw = strictjson.parse(content, max_bytes=IMPORT_MAX_BYTES, max_depth=MAX_DEPTH, max_items=MAX_ITEMS)
    except strictjson.BadJson as error:
        return Document(problems=[error.problem])
    return check_document(raw, task_id=task_id)
