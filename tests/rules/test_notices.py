"""Every notice has its one sentence, filled with what is always told."""

import re

import pytest

from contracts.rules.notices import ASKS_TO_DECIDE, TOLD_SENTENCES, MailState, Told, sentence_since
from contracts.rules.states import ApprovalState

WORDS = {"call", "title", "person", "reason", "until", "member", "version"}


def test_every_kind_has_a_sentence():
    assert set(TOLD_SENTENCES) == set(Told)


@pytest.mark.parametrize("kind", Told)
def test_a_sentence_is_filled_with_known_values_and_ends(kind):
    sentence = TOLD_SENTENCES[kind]
    assert set(re.findall(r"%\((\w+)\)s", sentence)) <= WORDS
    assert (sentence % dict.fromkeys(WORDS, "x")).endswith(".")


@pytest.mark.parametrize("state", ApprovalState)
@pytest.mark.parametrize("decided", [True, False])
def test_what_no_longer_asks_says_what_became_of_it(state, decided):
    sentence = sentence_since(state, decided=decided)
    assert sentence not in {TOLD_SENTENCES[kind] for kind in ASKS_TO_DECIDE}
    assert ("%(person)s" in sentence) is (decided and state is not ApprovalState.PENDING)


def test_labels_tell_kinds_and_mails_apart():
    for words in (Told, MailState):
        assert len({word.label for word in words}) == len(words)
