import pytest

from contracts.rules.differing import ABSENT, Place, differences


@pytest.mark.parametrize(
    ("was", "now", "found"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"a": 2}, [("/a", 1, 2)]),
        ({"a": 1}, {"b": 1}, [("/a", 1, ABSENT), ("/b", ABSENT, 1)]),
        ({"a": None}, {}, [("/a", None, ABSENT)]),
        ({"a": {"b": [1, 2]}}, {"a": {"b": [1, 3, 4]}}, [("/a/b/1", 2, 3), ("/a/b/2", ABSENT, 4)]),
        ({"a": [1]}, {"a": {"0": 1}}, [("/a", [1], {"0": 1})]),
        ({"x/y": 1, "~": 1}, {"x/y": 2, "~": 2}, [("/x~1y", 1, 2), ("/~0", 1, 2)]),
        ({"a": True}, {"a": 1}, [("/a", True, 1)]),
        (1, 2, [("", 1, 2)]),
    ],
)
def test_each_place_that_differs_is_named_once(was, now, found):
    assert list(differences(was, now)) == [Place(*place) for place in found]
