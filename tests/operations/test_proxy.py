"""Behind nginx as the document shows it: TLS, cookies, forwarded headers, long polls and streams."""

import re
import ssl

import httpx
import pytest

from tests import builders
from tests.client.targets import a_token
from tests.operations.acts import Browser, a_written_task, do_everything
from tests.operations.proxy import NAME, SHOWN, proxied
from tests.operations.sites import ROOT, address_of_database, served_at

pytestmark = pytest.mark.django_db(transaction=True)
DOCUMENTS = ("DEPLOYING.md", "DEPLOYING.zh-hans.md")


@pytest.fixture
def site(transactional_db, tmp_path):
    """Addresses with TLS and without, and what trusts the certificate."""
    settings = {"WORKBENCH_HTTPS": "1", "WORKBENCH_HOSTS": NAME, "WORKBENCH_ADDRESS": f"https://{NAME}"}
    with (
        served_at(tmp_path, address_of_database(), **settings) as upstream,
        proxied(tmp_path, upstream) as (tls, plain),
    ):
        yield tls, plain, ssl.create_default_context(cafile=str(tmp_path / "certificate.pem"))


def test_the_workbench_behind_nginx(site):
    """Everything in one test: servers that start cost more than what is asked of them."""
    tls, plain, trusted = site
    contract = a_written_task()
    with httpx.Client(verify=trusted, trust_env=False, timeout=60) as client:
        check_the_way_in(client, tls, plain)
        check_forged_headers(client, plain, tls)
        check_sizes(client, tls, contract)
        check_a_long_poll(client, tls)
    check_cookies(tls, trusted)
    do_everything_with(tls, trusted, contract)


def check_the_way_in(client, tls, plain):
    answer = client.get(f"{plain}/contracts/?a=1")
    assert (answer.status_code, answer.headers["Location"]) == (301, f"https://{NAME}/contracts/?a=1")
    answer = client.get(f"{tls}/login/")
    assert answer.status_code == 200
    assert answer.headers["Strict-Transport-Security"].startswith("max-age=31536000")
    assert "Server" not in answer.headers or "/" not in answer.headers["Server"]
    assert len([name for name, _ in answer.headers.multi_items() if name == "content-security-policy"]) == 1
    style = client.get(tls + re.search(r'href="(/static/[^"]+\.css)"', answer.text)[1])
    assert (style.status_code, "immutable" in style.headers["Cache-Control"]) == (200, True)


def check_forged_headers(client, plain, tls):
    """What a client says of itself reaches nobody: without TLS it stays without, and its address is its own."""
    forged = {"X-Forwarded-Proto": "https", "X-Forwarded-For": "203.0.113.9"}
    assert client.get(f"{plain}/login/", headers=forged).status_code == 301
    assert client.get(f"{tls}/login/", headers={"Host": "elsewhere.example"}).status_code in (400, 421, 444)


def check_sizes(client, tls, contract):
    """A body that is too large is refused, by nginx or by the workbench, and never takes it down."""
    headers = {"Authorization": f"Bearer {a_token(contract, 'large')}", "Idempotency-Key": "large"}
    answer = client.post(
        f"{tls}/api/v1/contracts/{contract.task_id}/resume", headers=headers, content=b"x" * 10_000_000
    )
    assert answer.status_code == 413


def check_a_long_poll(client, tls):
    """A request that waits for a decision is not cut off, and is answered when its time is over."""
    item = builders.a_waiting_item()
    headers = {"Authorization": f"Bearer {a_token(item.contract, 'waits')}"}
    place = f"{tls}/api/v1/contracts/{item.contract.task_id}/approvals/{item.item_id}"
    answer = client.get(place, headers=headers, params={"wait": 3})
    assert answer.status_code == 200, answer.text
    assert answer.elapsed.total_seconds() >= 2.5


def check_cookies(tls, trusted):
    browser = Browser(tls, verify=trusted)
    browser.get("/login/")
    form = next(
        one for one in browser.page.every("form") if one["method"] == "post" and "login" in names(one)
    )
    refused = browser.submit(form, "/login/", csrfmiddlewaretoken="x" * 64)
    assert refused.status_code == 403
    given = browser.get("/login/").headers.get_list("set-cookie")
    assert given
    assert all("; Secure" in cookie for cookie in given)
    browser.close()


def names(form):
    return {field["name"] for field in form.every("input")}


def do_everything_with(tls, trusted, contract):
    exports = do_everything([tls], contract, verify=trusted)
    assert contract.task_id.encode() in exports["txt"]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_both_languages_show_the_same_configuration(document):
    here, other = ((ROOT / "workbench" / name).read_text("utf-8") for name in DOCUMENTS)
    assert SHOWN.findall(here) == SHOWN.findall(other)
    assert len(SHOWN.findall(here)) == 1
