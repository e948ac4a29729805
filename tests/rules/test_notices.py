"""Every notice has its one sentence, filled with what is always told."""

import re

import pytest

from contracts.rules.notices import TOLD_SENTENCES, MailState, Told

WORDS = {"call", "title", "person", "reason", "until", "member", "version"}


def test_every_kind_has_a_sentence():
    assert set(TOLD_SENTENCES) == set(Told)


@pytest.mark.parametrize("kind", Told)
def test_a_sentence_is_filled_with_known_values_and_ends(kind):
    sentence = TOLD_SENTENCES[kind]
    assert set(re.findall(r"%\((\w+)\)s", sentence)) <= WORDS
    assert (sentence % dict.fromkeys(WORDS, "x")).endswith(".")


def test_labels_tell_kinds_and_mails_apart():
    for words in (Told, MailState):
        assert len({word.label for word in words}) == len(words)
