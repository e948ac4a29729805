import sys
import time

import pytest

from contracts.rules.credentials import find_credential
from contracts.rules.fingerprint import chain_hash
from tests.rules.test_credentials import INNOCENT

HOSTILE = ["://a:" * 13_000, "pass" * 16_000, "token: " * 9_000, "sk-" * 20_000, "aws" * 20_000, "1" * 65_000]


def told(capsys, what, start):
    with capsys.disabled():
        sys.stdout.write(f"\n{what}: {time.perf_counter() - start:.2f} s\n")


@pytest.mark.parametrize("text", ["eyJ" + "a" * 65_000, *HOSTILE], ids=range(7))
def test_a_text_made_to_be_slow_is_read_to_its_end(text, capsys):
    start = time.perf_counter()
    found = find_credential(text)
    told(capsys, f"{len(text):,} characters of {text[:6]}…", start)
    assert found is None


def test_ten_thousand_lines_are_scanned(capsys):
    fields = [line for line in INNOCENT if line][:8]
    start = time.perf_counter()
    found = [find_credential(field) for _ in range(10_000) for field in fields]
    told(capsys, f"credential scan of 10,000 lines of {len(fields)} fields", start)
    assert set(found) == {None}


def test_a_hundred_thousand_events_are_hashed(capsys):
    body = {
        "sequence": 17,
        "act": "dispatch",
        "before": {"state": "pending"},
        "after": {"note": "发布说明牌"},
    }
    start, digests = time.perf_counter(), [""]
    for _ in range(100_000):
        digests.append(chain_hash(digests[-1], body))
    told(capsys, "chain of 100,000 hashes", start)
    assert len(set(digests)) == 100_001
