from ipaddress import ip_network

import pytest

from contracts.rules.ledger import Reported
from contracts.rules.proxying import CLEAR_NO, Allowed, Proxy, Target, locate, may_reach, told_by

CMS = Target("cms", True, "cms.example.org", 443, "/api")
PROXY = Proxy(
    {"cms": CMS}, (Allowed(ip_network("10.0.3.0/24"), 443), Allowed(ip_network("2001:db8::/32"), 8443))
)


@pytest.mark.parametrize(
    ("target", "path"),
    [
        ("cms://pages/label-1", "/api/pages/label-1"),
        ("cms://pages", "/api/pages"),
        ("cms://pages/陶片 1".replace(" ", "_"), "/api/pages/%E9%99%B6%E7%89%87_1"),
        ("cms://pages/50%", "/api/pages/50%25"),
        ("cms://pages/%2e%2e/x", "/api/pages/%252e%252e/x"),
        ("cms://a:b@c/d", "/api/a:b@c/d"),
    ],
)
def test_a_target_begins_with_the_name_of_a_configured_system(target, path):
    place = locate(PROXY, target)
    assert place is not None
    assert (place.target, place.path) == (CMS, path)


@pytest.mark.parametrize(
    "target",
    [
        "",
        "cms",
        "cms://",
        "cms:///etc",
        "cms://a/../b",
        "cms://a/./b",
        "cms://a//b",
        "cms://a/",
        "cms://a?b",
        "cms://a#b",
        "cms://a\\b",
        "cms://a b",
        "cms://a\r\nHost: x",
        "dam://a",
        "CMS://a",
        "https://cms.example.org/api/pages",
    ],
)
def test_every_other_target_lies_nowhere(target):
    assert locate(PROXY, target) is None


@pytest.mark.parametrize(
    ("address", "port", "reached"),
    [
        ("10.0.3.9", 443, True),
        ("10.0.3.9", 8443, False),
        ("10.0.4.9", 443, False),
        ("::ffff:10.0.3.9", 443, True),
        ("::ffff:10.0.4.9", 443, False),
        ("2001:db8::1", 8443, True),
        ("2001:db9::1", 8443, False),
        ("127.0.0.1", 443, False),
        ("169.254.169.254", 443, False),
    ],
)
def test_only_listed_addresses_are_reached(address, port, reached):
    assert may_reach(PROXY, address, port) is reached


def test_only_a_clear_answer_is_one():
    told = {status: told_by(status) for status in range(100, 600)}
    assert {status for status, word in told.items() if word is Reported.CONFIRMED} == set(range(200, 300))
    assert {status for status, word in told.items() if word is Reported.REJECTED} == CLEAR_NO
    for unclear in (301, 303, 307, 308, 408, 409, 425, 429, 500, 502, 503, 504):
        assert told[unclear] is Reported.UNKNOWN
