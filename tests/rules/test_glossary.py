import re
from itertools import chain

import pytest
from django.utils import translation
from django.utils.translation import gettext

from contracts.rules import states, vocabulary
from contracts.rules.glossary import GROUPS
from contracts.rules.parts import PARTS
from contracts.rules.recovering import Way
from contracts.rules.resume_findings import Outcome
from contracts.rules.words import Labelled

TERMS = [term for group in GROUPS for term in group.terms]
# The terms that the specification gives in both languages.
GIVEN = {
    "续跑状态契约", "任务", "对话历史", "执行检查点", "业务进度", "外部效果", "人工批准", "尝试", "世代号",
    "检查点", "步骤日志", "来源", "产物", "逐对象进度", "未开始", "进行中", "已确认", "结果未知",
    "待重新核对", "已跳过", "工具调用契约", "外部操作", "参数指纹", "待执行", "发送中", "明确拒绝", "已放弃",
    "待批准", "已批准", "已拒绝", "已失效", "已撤回", "累计限制", "单一接手", "回退", "故障窗口", "续跑判定",
    "重放", "跳过", "补偿", "转人工",
}  # fmt: skip


def labels():
    """Return the labels people read in the sections of a contract: of parts, their fields, and closed lists."""
    kinds = [one for one in chain(vars(states).values(), vars(vocabulary).values()) if isinstance(one, type)]
    kinds = [one for one in kinds if issubclass(one, Labelled)] + [Way, Outcome]
    found = {member.label for kind in kinds for member in kind}
    for part in PARTS.values():
        found |= {part.title, part.one, *(field.label for field in part.fields)}
    return found - {""}


def test_every_term_of_the_specification_is_there():
    assert {term.chinese for term in TERMS} >= GIVEN


def test_every_label_that_is_a_term_says_the_same_in_both_languages():
    chinese = {}
    for term in TERMS:
        chinese.setdefault(term.english.casefold(), set()).add(term.chinese)
    shared = [label for label in labels() if label.casefold() in chinese]
    assert len(shared) > 40
    with translation.override("zh-hans"):
        wrong = {label: gettext(label) for label in shared if gettext(label) not in chinese[label.casefold()]}
    assert wrong == {}


def test_one_english_word_has_one_chinese_word():
    pairs = {(term.english, term.chinese) for term in TERMS}
    assert len({english for english, _ in pairs}) == len(pairs)


def test_every_anchor_is_there_once_and_fit_for_an_address():
    anchors = [group.anchor(term) for group in GROUPS for term in group.terms] + [one.name for one in GROUPS]
    assert len(set(anchors)) == len(anchors)
    assert all(re.fullmatch("[a-z]+(-[a-z]+)*", anchor) for anchor in anchors)


def test_every_state_of_objects_operations_and_approvals_is_explained():
    explained = {(term.stored, term.english) for term in TERMS}
    for kind in (states.ContractState, states.ObjectState, states.OperationState, states.ApprovalState):
        assert {(member.value, member.label) for member in kind} <= explained


@pytest.mark.parametrize("term", TERMS, ids=lambda term: term.english)
def test_each_meaning_is_one_or_two_sentences(term):
    assert term.meaning.endswith(".")
    assert len(re.findall(r"[.;]\s|\.$", term.meaning)) <= 3
    assert len(term.meaning) <= 260
