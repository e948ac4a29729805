import datetime as dt
from zoneinfo import ZoneInfo

import pytest
from django.template import Context, Template
from django.template.loader import render_to_string
from django.utils import timezone, translation

from contracts.rules.states import ContractState, ObjectState
from contracts.rules.verdict import Problem, allow, refuse
from contracts.templatetags import words

MOMENT = dt.datetime(2026, 11, 29, 9, 5, 12, 123456, tzinfo=dt.UTC)
DIGEST = "4be1" + "0" * 56 + "c09d"


@pytest.fixture(autouse=True)
def _english_in_berlin():
    with translation.override("en"), timezone.override(ZoneInfo("Europe/Berlin")):
        yield


def test_a_label_is_the_words_of_the_state():
    assert words.label(ObjectState.IN_PROGRESS) == "In progress"


def test_a_label_is_translated():
    with translation.override("zh-hans"):
        assert words.label("Yes") == "是"


def test_nothing_has_no_label():
    assert words.label("") == words.label(None) == ""


def test_a_sentence_is_filled_with_its_values():
    verdict = refuse("taken", "“%(value)s” is %(state)s.", value="a", state=ContractState.PAUSED)
    assert words.sentence(verdict) == "“a” is Paused."


def test_a_problem_says_its_sentence():
    assert words.sentence(Problem("title", "long", "%(n)d of 100 %%", {"n": 7})) == "7 of 100 %"


def test_a_silent_verdict_says_nothing():
    assert words.sentence(allow()) == words.sentence("") == ""


def test_a_sentence_in_a_page_is_escaped():
    shown = Template("{% load words %}{{ v|sentence }}").render(
        Context({"v": refuse("bad", "“%(value)s”", value="<b>")})
    )
    assert shown == "“&lt;b&gt;”"


def test_hidden_characters_become_marks():
    shown = words.visible("box\u200b, <b>")
    assert shown == 'box<span class="mark" title="ZERO WIDTH SPACE">U+200B</span>, &lt;b&gt;'


def test_a_look_alike_letter_stays_before_its_mark():
    assert words.visible("p\u0430ge").startswith('p\u0430<span class="mark" title="CYRILLIC SMALL LETTER A">')


def test_plain_text_has_no_marks():
    assert words.visible("冬季渡口 & winter") == "冬季渡口 &amp; winter"
    assert words.visible(None) == ""


def test_a_moment_shows_its_zone_and_is_exact_on_hover():
    shown = words.exact(MOMENT)
    assert "29 November 2026, 10:05 CET</time>" in shown
    assert 'title="2026-11-29 10:05:12.123+01:00"' in shown
    assert 'datetime="2026-11-29T09:05:12.123456+00:00"' in shown


def test_a_day_has_no_time():
    assert words.exact(dt.date(2026, 11, 29)) == '<time datetime="2026-11-29">29 November 2026</time>'


def test_no_moment_shows_nothing():
    assert words.exact(None) == words.distance(None, MOMENT) == words.distance(MOMENT, None) == ""


@pytest.mark.parametrize(("days", "said"), [(5, "in 5\xa0days"), (-3, "3\xa0days ago"), (0, "just now")])
def test_a_distance_says_its_direction(days, said):
    assert words.distance(MOMENT + dt.timedelta(days=days), MOMENT) == said


def test_a_chip_has_class_and_words():
    assert words.state(ObjectState.IN_PROGRESS) == '<span class="state in-progress">In progress</span>'


def test_a_chip_may_count():
    assert words.state("confirmed", "11 <confirmed>") == (
        '<span class="state confirmed">11 &lt;confirmed&gt;</span>'
    )


def test_a_copyable_id_is_escaped_everywhere():
    shown = words.copyable('a"<b>')
    assert '<code class="id">a&quot;&lt;b&gt;</code>' in shown
    assert 'data-copy-text="a&quot;&lt;b&gt;"' in shown
    assert "<b>" not in shown


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("collection.read_record", "collection.<wbr>read_<wbr>record"),
        ("cms://pages/<a>", "cms://<wbr>pages/<wbr>&lt;a&gt;"),
        ("plain", "plain"),
        ("", ""),
        ("a\u200b.b", 'a<span class="mark" title="ZERO WIDTH SPACE">U+200B</span>.<wbr>b'),
    ],
)
def test_a_name_is_broken_at_its_joints_and_nowhere_else(name, shown):
    assert words.named(name) == shown


def test_nothing_cannot_be_copied():
    assert words.copyable("") == words.copyable(None) == words.fingerprint("") == ""


def test_a_fingerprint_is_short_and_copied_whole():
    shown = words.fingerprint(DIGEST)
    assert ">4be1…c09d</code>" in shown
    assert f'title="{DIGEST}"' in shown
    assert f'data-copy-text="{DIGEST}"' in shown


def test_a_bar_says_its_counts_in_words_and_fills_its_width():
    shown = words.bar([(ObjectState.CONFIRMED, 3), (ObjectState.SKIPPED, 0), (ObjectState.PENDING, 1)])
    assert 'aria-label="3 Confirmed, 1 Not started"' in shown
    assert '<rect class="confirmed" x="0.00" y="0" width="75.00" height="8"/>' in shown
    assert '<rect class="pending" x="75.00" y="0" width="25.00" height="8"/>' in shown
    assert "skipped" not in shown
    assert "style=" not in shown


def test_an_empty_bar_is_nothing():
    assert words.bar([(ObjectState.PENDING, 0)]) == ""


def test_a_bar_may_stand_without_legend():
    assert "legend" not in words.bar([(ObjectState.PENDING, 1)], legend=False)


def test_the_error_summary_lists_the_problems_of_a_refusal():
    refusal = refuse("bad", "Not saved.", problems=(Problem("/title", "long", "Too long."),))
    shown = render_to_string("parts/errors.html", {"refusal": refusal})
    assert "Not saved." in shown
    assert "<code>/title</code>" in shown
    assert "Too long." in shown


def test_the_error_summary_is_silent_when_nothing_is_wrong():
    assert render_to_string("parts/errors.html", {"refusal": allow()}).strip() == ""


@pytest.mark.parametrize("name", ["400.html", "403_csrf.html", "500.html"])
def test_a_page_for_a_failure_needs_no_context(name, settings):
    settings.STORAGES = {
        **settings.STORAGES,
        "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
    }
    assert "<h1>" in render_to_string(name)


@pytest.mark.parametrize(
    ("text", "language"),
    [("Krug, um 1120", ""), ("水罐 1120", "zh"), ("A jar, 壶", "zh"), (None, ""), ("", "")],
)
def test_a_text_is_set_as_its_own_characters_want(text, language):
    assert words.script(text) == language
