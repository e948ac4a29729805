"""The product is complete in Simplified Chinese: every sentence of the code, and nothing else, is in the catalogue."""

import re
import shutil
import subprocess

import pytest
from django.template import Context, Template
from django.test import Client
from django.utils import translation
from django.utils.formats import date_format
from django.utils.timezone import datetime
from django.utils.translation import gettext, ngettext, pgettext
from django.utils.translation.template import templatize

from contracts.rules.states import ApprovalState, ObjectState, OperationState
from contracts.rules.vocabulary import Plane
from workbench.catalogues import CHINESE, Differences, compare, entries_of, read_catalogue
from workbench.extraction import KEYWORDS, ROOT, Sentence, in_python, in_template, sentences_of

HAN = r"[\u3400-\u9fff]"
# A western mark beside a Han character; a dot only at the end, because it also parts the words of a name.
WESTERN = re.compile(rf"{HAN}[,;:!?()]|[,;:!?(]{HAN}|{HAN}\.(?:\s|$)|\.\.\.|[\"']{HAN}|{HAN}[\"']")
# For owner, ledger, reconcile, overview, checksum, right, example, account, and what is left of a limit.
SECOND_WORDS = re.compile("所有者|持有者|拥有者|台账|对账|概览|校验和|权利|案例|账户|限额")
PLACEHOLDER = re.compile(r"%\(\w+\)[a-z]|(?<!%)%[sd]|(?<!\{)\{\w*\}(?!\})")


@pytest.fixture(scope="module")
def entries():
    """Every entry as (all English forms, Chinese, message)."""
    found = []
    for message in read_catalogue(CHINESE):
        if message.id:
            english = message.id if message.pluralizable else (message.id,)
            found.append((english, message.string[0] if message.pluralizable else message.string, message))
    return found


def test_the_catalogue_says_what_the_code_says():
    assert compare(CHINESE, sentences_of()) == Differences(missing=(), fuzzy=(), dead=())


def test_there_is_something_to_translate(entries):
    assert len(entries) > 800


def test_chinese_has_one_form(entries):
    assert "Plural-Forms: nplurals=1; plural=0;" in CHINESE.read_text("utf-8")
    assert [
        message.id for _, _, message in entries if message.pluralizable and len(message.string) != 1
    ] == []


def test_placeholders_are_the_same(entries):
    def wrong(english, chinese):
        # The last English form of a plural holds every placeholder; the first may say "one".
        return set(PLACEHOLDER.findall(english[-1])) != set(PLACEHOLDER.findall(chinese))

    assert [english for english, chinese, _ in entries if wrong(english, chinese)] == []


def test_a_percent_sign_is_doubled_only_where_the_sentence_is_filled(entries):
    assert [english for english, chinese, _ in entries if ("%%" in english[-1]) != ("%%" in chinese)] == []


def test_chinese_sentences_have_chinese_punctuation(entries):
    assert [chinese for _, chinese, _ in entries if WESTERN.search(chinese)] == []


def test_sentences_end_alike(entries):
    def wrong(english, chinese):
        return (english[-1].endswith("."), english[-1].endswith("?"), english[-1].endswith("…")) != (
            chinese.endswith("。"),
            chinese.endswith(("？", "吗？")),
            chinese.endswith("…"),
        )

    assert [(english, chinese) for english, chinese, _ in entries if wrong(english, chinese)] == []


def test_the_reader_is_addressed_politely(entries):
    assert [chinese for _, chinese, _ in entries if "你" in chinese] == []


def test_one_thing_has_one_word(entries):
    """Each of these was once a second word for what the catalogue calls by another."""
    assert [chinese for _, chinese, _ in entries if SECOND_WORDS.search(chinese)] == []


def test_no_entry_starts_or_ends_with_a_blank(entries):
    assert [chinese for _, chinese, _ in entries if chinese != chinese.strip()] == []


def test_the_catalogue_holds_no_line_numbers_and_no_dates():
    lines = CHINESE.read_text("utf-8").splitlines()
    assert [line for line in lines if line.startswith(("#:", "#~", "#|")) or "-Date:" in line] == []


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (Plane.CONVERSATION, "对话历史"),
        (Plane.CHECKPOINT, "执行检查点"),
        (Plane.PROGRESS, "业务进度"),
        (Plane.EFFECTS, "外部效果"),
        (Plane.APPROVAL, "人工批准"),
        (ObjectState.PENDING, "未开始"),
        (ObjectState.IN_PROGRESS, "进行中"),
        (ObjectState.CONFIRMED, "已确认"),
        (ObjectState.UNKNOWN, "结果未知"),
        (ObjectState.RECHECK, "待重新核对"),
        (ObjectState.SKIPPED, "已跳过"),
        (OperationState.PENDING, "待执行"),
        (OperationState.SENDING, "发送中"),
        (OperationState.REJECTED, "明确拒绝"),
        (OperationState.ABANDONED, "已放弃"),
        (ApprovalState.PENDING, "待批准"),
        (ApprovalState.APPROVED, "已批准"),
        (ApprovalState.REJECTED, "已拒绝"),
        (ApprovalState.STALE, "已失效"),
        (ApprovalState.EXPIRED, "已过期，无人决定"),
        (ApprovalState.WITHDRAWN, "已撤回"),
    ],
)
def test_domain_terms_are_those_of_the_field(state, words):
    with translation.override("zh-hans"):
        assert gettext(state.label) == words


def test_dates_are_written_the_chinese_way():
    moment = datetime(2030, 5, 31, 18, 0)
    with translation.override("zh-hans"):
        assert date_format(moment, pgettext("date format", "j F Y")) == "2030年5月31日"
        assert date_format(moment, pgettext("date format", "j F Y, H:i T")).startswith("2030年5月31日 18:00")


@pytest.mark.parametrize("wish", ["zh-hans", "zh-CN", "zh-CN,zh;q=0.9,en;q=0.5"])
@pytest.mark.django_db
def test_a_browser_that_wishes_chinese_gets_chinese(wish):
    page = Client(headers={"accept-language": wish}).post("/login/", {"login": "", "password": ""})
    assert page.headers["Content-Language"] == "zh-hans"
    words = page.content.decode()
    assert "续跑状态工作台" in words
    assert "这个字段是必填项。" in words  # Django's own words


def test_the_numbers_of_sentences_are_filled_in():
    with translation.override("zh-hans"):
        page = Template(
            "{% load i18n %}{% blocktranslate trimmed count total=many %}"
            "{{ total }} contract{% plural %}{{ total }} contracts{% endblocktranslate %}"
        )
        assert page.render(Context({"many": 1})) == "1 份契约"
        assert (
            ngettext("%(number)s more field", "%(number)s more fields", 3) % {"number": 3} == "另有 3 个字段"
        )


PYTHON = """
first = N_("One")
second = _("Two "
    "halves")
third = ngettext("%(n)d row", "%(n)d rows", n) % {"n": n}
fourth = pgettext("date format", "j F Y")
fifth = gettext("Outer %(inner)s") % {"inner": gettext_lazy("Inner")}
sixth = gettext(variable)
"""

TEMPLATE = """
{% load i18n %}
  {% translate "Plain" %} {% translate 'It is' %}
    <p title="{% translate "In an attribute" as words %}">
{% translate "Open" context "a file" %}
  {% blocktranslate trimmed count number=rows|length %}
    {{ number }} row
  {% plural %}
    {{ number }} rows
  {% endblocktranslate %}
{% blocktranslate with a=b %}Said {{ a }} at 100 %{% endblocktranslate %}
{% include "parts/state.html" with text=_("In a tag") %}
{{ value|default:_("In a filter") }} Don't (stop "here
"""


def test_sentences_are_found_in_python():
    assert set(in_python(PYTHON)) == {
        Sentence("One"),
        Sentence("Two halves"),
        Sentence("%(n)d row", "%(n)d rows"),
        Sentence("j F Y", context="date format"),
        Sentence("Outer %(inner)s"),
        Sentence("Inner"),
    }


def test_sentences_are_found_in_templates():
    assert set(in_template(TEMPLATE)) == {
        Sentence("Plain"),
        Sentence("It is"),
        Sentence("In an attribute"),
        Sentence("Open", context="a file"),
        Sentence("%(number)s row", "%(number)s rows"),
        Sentence("Said %(a)s at 100 %%"),
        Sentence("In a tag"),
        Sentence("In a filter"),
    }


def gnu_sentences(program, folder):
    """Every sentence as GNU gettext finds it in the Python files and in what Django makes of the templates."""
    sources = [
        path.read_text("utf-8")
        for room in ("contracts", "workbench")
        for path in ROOT.glob(f"{room}/**/*.py")
    ]
    sources += [templatize(path.read_text("utf-8")) for path in ROOT.glob("templates/**/*.html")]
    keywords = [f"--keyword={name}:{_gnu_arguments(spec)}" for name, spec in KEYWORDS.items()]
    # Without its header, which names the encoding, it would drop every character beyond ASCII.
    options = ["--from-code=UTF-8", "--language=Python", "--no-location", "-k"]
    done = subprocess.run(
        [program, *options, *keywords, "-o", "-", "-"],
        input="\n".join(sources),
        capture_output=True,
        text=True,
        check=True,
    )
    found = folder / "en" / "LC_MESSAGES" / "django.po"
    found.parent.mkdir(parents=True)
    words = done.stdout.replace("nplurals=INTEGER; plural=EXPRESSION;", "nplurals=2; plural=(n != 1);")
    found.write_text(words, "utf-8")
    return entries_of(read_catalogue(found))


def _gnu_arguments(spec):
    return ",".join(f"{one[0]}{one[1]}" if isinstance(one, tuple) else str(one) for one in spec or (1,))


if _XGETTEXT := shutil.which("xgettext"):

    def test_gnu_gettext_finds_nothing_more(tmp_path):
        # It finds less: some versions of it do not look into f-strings.
        assert set(gnu_sentences(_XGETTEXT, tmp_path)) - set(sentences_of()) == set()
