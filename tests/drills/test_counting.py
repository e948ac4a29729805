from decimal import Decimal

import pytest

from contracts.drills.adapter import OBJECTS, VICTIM, FileKeeper
from contracts.drills.counting import count, repeated_steps, seconds_to_resume
from contracts.drills.processes import Line
from contracts.rules.windows import Window


class Keeper(FileKeeper):
    """One that keeps account."""

    def held(self):
        return 1

    def unfinished(self):
        return frozenset({VICTIM, "object-5"})

    def recovered(self):
        return 2

    def refused(self):
        return 3


def page(name, source="v1"):
    return {"name": name, "content": {"page": name, "source": source}}


def counted(tmp_path, pages, window=Window.BEFORE_COMMIT, requests=(), keeper=FileKeeper):
    return count(window, {"pages": pages, "requests": list(requests)}, [], keeper(tmp_path))


def lines(*texts):
    """Make lines, one a second; `who>text`, of the first worker if nobody is named."""
    parted = [text.split(">") if ">" in text else ("worker 1", text) for text in texts]
    return [Line(float(second), who, text) for second, (who, text) in enumerate(parted)]


def test_one_page_for_each_object_is_what_is_expected(tmp_path):
    found = counted(tmp_path, [page(name) for name in OBJECTS])
    assert (found.expected, found.in_target, found.lost, found.duplicated, found.unexpected) == (
        8,
        8,
        0,
        0,
        0,
    )


def test_missing_and_further_pages_are_counted_apart(tmp_path):
    found = counted(tmp_path, [page(name) for name in (*OBJECTS[2:], OBJECTS[2], OBJECTS[2])])
    assert (found.in_target, found.lost, found.duplicated) == (8, 2, 2)


def test_a_page_nobody_expected_is_counted(tmp_path):
    assert counted(tmp_path, [*map(page, OBJECTS), page("object-9")]).unexpected == 1


@pytest.mark.parametrize(("source", "unexpected"), [("v1", 1), ("v2", 0)])
def test_after_the_change_only_the_next_version_is_expected(tmp_path, source, unexpected):
    pages = [page(name, source if name == VICTIM else "v1") for name in OBJECTS]
    assert counted(tmp_path, pages, Window.CHANGED_WHILE_PAUSED).unexpected == unexpected


def test_content_that_is_no_object_is_unexpected(tmp_path):
    assert counted(tmp_path, [{"name": OBJECTS[0], "content": "words"}]).unexpected == 1


def test_what_keepers_and_target_say_is_taken_over(tmp_path):
    requests = [{"outcome": "former", "answered": 0}, {"outcome": "page", "answered": 1}]
    found = counted(tmp_path, [], requests=requests, keeper=Keeper)
    assert (found.attempted, found.acknowledged, found.stale_refused) == (2, 1, 4)
    assert (found.unknown_held, found.recovered, found.lost, found.left_open) == (1, 2, 8, 2)


def test_nothing_is_left_open_on_purpose_where_nothing_is_held(tmp_path):
    class Careless(Keeper):
        def held(self):
            return 0

    assert counted(tmp_path, [], keeper=Careless).left_open == 0


def test_a_step_is_repeated_only_if_it_was_stored():
    assert repeated_steps(lines("model a", "worker 2>model a", "worker 2>committed a")) == 0
    assert repeated_steps(lines("model a", "committed a", "worker 2>model a", "worker 2>model b")) == 1


def test_a_draft_of_what_was_replaced_is_no_repetition():
    before = ("model object-4", "committed object-4", "model a", "committed a", "runner>change")
    assert repeated_steps(lines(*before, "worker 2>model object-4")) == 0
    assert repeated_steps(lines(*before, "worker 2>model a")) == 1


def test_time_to_resume_counts_to_the_first_work_of_another_worker():
    said = lines("model a", "runner>fault", "model b", "worker 2>reached ready -", "worker 2>model a")
    assert seconds_to_resume(Window.FROZEN_OWNER, said) == Decimal(3)
    assert seconds_to_resume(Window.FROZEN_OWNER, said[:3]) == 0


def test_twins_were_both_started_before_the_fault():
    said = lines("model a", "worker 2>reached ready -", "runner>fault", "worker 2>model a")
    assert seconds_to_resume(Window.TWO_RESUMES, said) == Decimal(1)


def test_a_lost_receipt_counts_from_the_request_to_the_receipt():
    said = lines("reached leaving object-4", "model object-5", "sent object-4")
    assert seconds_to_resume(Window.RECEIPT_LOST, said) == Decimal(2)
    assert seconds_to_resume(Window.RECEIPT_LOST, said[1:]) == 0
