from contracts.forms.filters import EventFilters, ListFilters


def test_what_can_be_read_is_read_even_where_another_filter_is_wrong():
    filters = ListFilters({"q": "label", "state": "nonsense", "mine": "on"}, teams=[])
    assert filters.understood() == {"q": "label", "mine": True}


def test_an_empty_filter_narrows_nothing():
    assert EventFilters({}, parts={}, kinds={}).understood() == {}
