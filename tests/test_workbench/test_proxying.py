from ipaddress import ip_network

import pytest

from contracts.rules.proxying import Allowed, Target
from workbench.environment import EnvironmentRefused
from workbench.proxying import proxy_variables, read_proxy

TARGETS, ADDRESSES = "WORKBENCH_PROXY_TARGETS", "WORKBENCH_PROXY_ADDRESSES"


def read(targets="", addresses="192.0.2.7:443", **more):
    return read_proxy({TARGETS: targets, ADDRESSES: addresses, **more})


def test_nothing_is_reached_unless_it_is_configured():
    proxy = read_proxy({})
    assert (dict(proxy.targets), proxy.allowed, proxy.seconds) == ({}, (), 30)


def test_it_reads_targets_addresses_and_their_secrets():
    proxy = read(
        "cms=https://cms.example.org/api/,image-store=http://127.0.0.1:8080",
        "192.0.2.7:443,10.0.3.0/24:8080,[2001:db8::7]:443,[2001:db8::/32]:443",
        WORKBENCH_PROXY_AUTH_IMAGE_STORE="Bearer abc",
        WORKBENCH_PROXY_SECONDS="5",
    )
    assert dict(proxy.targets) == {
        "cms": Target("cms", True, "cms.example.org", 443, "/api"),
        "image-store": Target("image-store", False, "127.0.0.1", 8080, "", "Bearer abc"),
    }
    assert proxy.allowed == (
        Allowed(ip_network("192.0.2.7"), 443),
        Allowed(ip_network("10.0.3.0/24"), 8080),
        Allowed(ip_network("2001:db8::7"), 443),
        Allowed(ip_network("2001:db8::/32"), 443),
    )
    assert proxy.seconds == 5
    assert "abc" not in repr(proxy)


def test_each_target_has_one_variable_of_its_own():
    names = proxy_variables({TARGETS: "cms=https://a.example,image-store=https://b.example"})
    assert names[3:] == ["WORKBENCH_PROXY_AUTH_CMS", "WORKBENCH_PROXY_AUTH_IMAGE_STORE"]


@pytest.mark.parametrize(
    "targets",
    [
        "cms",
        "cms=",
        "=https://a.example",
        "CMS=https://a.example",
        "c_s=https://a.example",
        "cms=ftp://a.example",
        "cms=https://",
        "cms=https://u:password@a.example",
        "cms=https://a.example?q=1",
        "cms=https://a.example#x",
        "cms=https://a.example/../x",
        "cms=https://a.example/a//b",
        "cms=https://a.example/%2e",
        "cms=https://a.example:0",
        "cms=https://a.example:99999",
        "cms=https://a.example,cms=https://b.example",
    ],
)
def test_it_refuses_targets_that_are_unclear(targets):
    with pytest.raises(EnvironmentRefused, match=TARGETS) as refused:
        read(targets)
    assert "password" not in str(refused.value)


@pytest.mark.parametrize(
    "addresses",
    [
        "",
        "192.0.2.7",
        "a.example:443",
        "192.0.2.7:0",
        "192.0.2.7:70000",
        "192.0.2.7:x",
        "10.0.3.1/24:443",
        "2001:db8::7:443",
        "[192.0.2.7]:443",
        "*:443",
    ],
)
def test_it_refuses_addresses_that_are_unclear(addresses):
    with pytest.raises(EnvironmentRefused, match=ADDRESSES):
        read("cms=https://a.example", addresses)


def test_a_secret_is_never_sent_in_the_clear():
    with pytest.raises(EnvironmentRefused, match="WORKBENCH_PROXY_AUTH_CMS"):
        read("cms=http://a.example", WORKBENCH_PROXY_AUTH_CMS="Bearer abc")
    with pytest.raises(EnvironmentRefused, match="WORKBENCH_PROXY_AUTH_CMS"):
        read("cms=https://a.example", WORKBENCH_PROXY_AUTH_CMS="Bearer ü")
