"""The switches of the example's content system, each seen from outside."""

import subprocess
import sys
import time
from contextlib import closing, contextmanager

import httpx
import pytest

from contracts.client import Call, TargetRefused
from contracts.client.examples.content_record import Switches
from contracts.client.examples.content_system import Pages


@contextmanager
def system(folder, *words):
    """Run it with these words; gives the way to it."""
    folder.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "contracts.client.examples.content_system", str(folder), *words]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with process, closing(Pages(process.stdout.readline().strip())) as pages:
        yield pages
        process.stdin.close()
        process.wait(timeout=30)


def call(page="case-7", key="k", generation=1, text="words"):
    return Call(key, generation, "cms.publish", {"page": page, "text": text}, "cms://pages")


def test_as_it_comes_every_request_makes_a_page(tmp_path):
    with system(tmp_path) as pages:
        assert [pages.publish(call(generation=number)).reference for number in (5, 1)] == ["page-1", "page-2"]
        told = pages.record()
    assert [row["generation"] for row in told["pages"]] == [5, 1]
    assert told["pages"][0]["content"] == {"page": "case-7", "text": "words"}
    assert [(row["outcome"], row["answered"]) for row in told["requests"]] == [("page", 1), ("page", 1)]


def test_a_known_key_gets_the_first_page_until_it_is_forgotten(tmp_path):
    with system(tmp_path, "deduplicates:1.5") as pages:
        assert [pages.publish(call(text=text)).reference for text in "ab"] == ["page-1", "page-1"]
        assert pages.publish(call(key="other")).reference == "page-2"
        time.sleep(1.6)
        assert pages.publish(call()).reference == "page-3"
        assert [row["outcome"] for row in pages.record()["requests"]] == [
            "page",
            "recognised",
            "page",
            "page",
        ]


def test_what_it_remembers_outlives_its_process(tmp_path):
    with system(tmp_path, "deduplicates") as pages:
        pages.publish(call())
    with system(tmp_path, "deduplicates") as pages:
        assert pages.publish(call()).reference == "page-1"


def test_a_former_generation_is_refused_and_counted(tmp_path):
    with system(tmp_path, "checks-generation") as pages:
        pages.publish(call(generation=2))
        with pytest.raises(TargetRefused):
            pages.publish(call(generation=1, key="late"))
        pages.announce(7)
        with pytest.raises(TargetRefused):
            pages.publish(call(generation=6, key="later"))
        assert [row["outcome"] for row in pages.record()["requests"]] == ["page", "former", "former"]
        assert len(pages.all()) == 1


def test_the_receipt_of_one_page_is_lost_once(tmp_path):
    with system(tmp_path, "lose-a-receipt:b") as pages:
        pages.publish(call("a", "1"))
        with pytest.raises(httpx.RemoteProtocolError):
            pages.publish(call("b", "2"))
        assert pages.find(call("b", "2")).count == 1
        pages.publish(call("b", "2"))
        assert [row["answered"] for row in pages.record()["requests"]] == [1, 0, 1]


def test_a_page_that_is_not_wanted_is_refused(tmp_path):
    with system(tmp_path, "refuse:b") as pages:
        pages.publish(call("a", "1"))
        with pytest.raises(TargetRefused):
            pages.publish(call("b", "2"))
        assert len(pages.all()) == 1


def test_an_answer_comes_late_or_never_though_the_page_is_there(tmp_path):
    with system(tmp_path, "answer-late:b:0.5", "never-answer:c") as pages:
        begun = time.monotonic()
        pages.publish(call("b", "1"))
        assert time.monotonic() - begun >= 0.5
        body = {"key": "2", "generation": 1, "content": {"page": "c"}}
        with pytest.raises(httpx.ReadTimeout):
            httpx.post(f"{pages.address}/pages", json=body, timeout=0.3)
        assert len(pages.all()) == 2


def test_it_is_asked_by_key_and_by_name(tmp_path):
    with system(tmp_path) as pages:
        pages.publish(call("a", "1"))
        pages.publish(call("b", "2"))
        asked = httpx.get(f"{pages.address}/pages", params={"name": "b"}).json()
        assert asked["references"] == ["page-2"]


def test_the_single_write_proxy_names_key_and_owner_in_headers(tmp_path):
    with system(tmp_path) as pages:
        headers = {"Idempotency-Key": "k", "Workbench-Generation": "3"}
        made = httpx.post(f"{pages.address}/pages/a", json={"page": "a"}, headers=headers)
        row = pages.record()["pages"][0]
    assert made.json() == {"reference": "page-1"}
    assert (row["key"], row["name"], row["generation"]) == ("k", "a", 3)


def test_a_word_that_is_no_switch_is_refused():
    with pytest.raises(ValueError, match="lose-receipt"):
        Switches.read(["lose-receipt"])
    assert Switches.read(["port:80", "answer-late:a:b:2"]) == Switches(port=80, late=("a:b", 2.0))
