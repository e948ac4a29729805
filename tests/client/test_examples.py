from contextlib import closing
from pathlib import Path

import pytest

from contracts.client import Call, TargetRefused
from contracts.client.examples.content_system import Pages
from contracts.client.examples.fake_model import FakeModel, calls
from contracts.management.example_processes import Processes

EXAMPLES = Path(__file__).resolve().parents[2] / "contracts" / "client" / "examples"


def call(generation=1, key="k"):
    return Call(key, generation, "cms.publish", {"page": "case-7"}, "cms://pages")


@pytest.fixture
def system(tmp_path):
    processes = Processes(tmp_path / "cms", lambda _: None)
    with processes.content_system() as place, closing(Pages(place)) as pages:
        yield pages


@pytest.mark.parametrize("name", ["museum_label.py", "archive_photographs.py"])
def test_what_users_copy_is_shorter_than_sixty_lines(name):
    assert EXAMPLES.joinpath(name).read_text("utf-8").count("\n") < 60


def test_the_content_system_loses_one_receipt_and_then_makes_a_page_for_every_request(system):
    with pytest.raises(Exception, match="disconnected"):
        system.publish(call())
    assert system.find(call()).reference == "page-1"
    assert system.publish(call()).reference == "page-2"
    assert (system.find(call()).count, system.all()) == (2, ["page-1", "page-2"])
    assert system.find(call(key="other")).answer == "absent"


def test_the_content_system_refuses_the_generations_before_the_one_it_was_told(system):
    system.announce(5)
    with pytest.raises(TargetRefused):
        system.publish(call(generation=4, key="late"))
    assert system.find(call(key="late")).count is None


def test_the_model_never_says_the_same_twice_and_every_call_is_counted(tmp_path):
    record = str(tmp_path / "calls.jsonl")
    model = FakeModel(record, seconds=0)
    assert len({model.write("a jar") for _ in range(20)}) == 20
    assert calls(record) == ["a jar"] * 20
    assert calls(str(tmp_path / "none")) == []
