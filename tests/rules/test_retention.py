from datetime import UTC, datetime, timedelta

import pytest

from contracts.rules.retention import kept_until, may_retire, retired_location
from contracts.rules.states import ContractState
from contracts.rules.text import check_location
from contracts.rules.tokens import LONGEST_DAYS

ENDED = datetime(2030, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)


@pytest.mark.parametrize(
    ("days", "kept"),
    [
        ([], LONGEST_DAYS),
        ([None, None], LONGEST_DAYS),
        ([1], LONGEST_DAYS),
        ([30, None], 30),
        ([30, 365], 365),
    ],
)
def test_everything_is_kept_as_long_as_the_longest_plane_says_and_while_a_token_may_live(days, kept):
    assert kept_until(ENDED, days) == ENDED + kept * DAY


@pytest.mark.parametrize("state", ContractState)
@pytest.mark.parametrize("before", [-DAY, timedelta(), DAY])
@pytest.mark.parametrize("left", [-DAY, timedelta(), DAY])
def test_only_what_ended_before_the_day_and_is_kept_no_longer_may_go(state, before, left):
    now = ENDED + 400 * DAY
    code = may_retire(state=state.value, ended_at=ENDED, before=ENDED + before, until=now + left, now=now)
    if state not in (ContractState.COMPLETED, ContractState.CANCELLED):
        assert code == "not_open"
    elif before <= timedelta():
        assert code == "not_ended_by_then"
    else:
        assert code == ("kept_longer" if left > timedelta() else "")


def test_a_contract_without_a_time_of_its_end_keeps_everything():
    known = {"before": ENDED, "until": ENDED, "now": ENDED}
    assert may_retire(state="completed", ended_at=None, **known) == "not_open"


def test_what_is_gone_has_a_location_that_every_form_takes():
    assert check_location("location", retired_location("a" * 64)) is None
