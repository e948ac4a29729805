"""Words that people read, kept beside the rules that use them.

Rules know no Django, so they only *mark* a sentence for translation; whoever shows it translates it.
"""

import enum


def N_(text: str) -> str:
    """Mark a sentence for the translation catalogue and return it unchanged."""
    return text


class Labelled(enum.StrEnum):
    """A string enumeration whose members carry the English words shown to people.

    A member is written `NAME = "value", N_("Label")`; `member.label` is the message id of the label.
    """

    label: str

    # The label is optional only in the eyes of the type checker: `Section("limits")` finds a member.
    def __new__(cls, value: str, label: str = "") -> "Labelled":
        member = str.__new__(cls, value)
        member._value_ = value
        member.label = label
        return member
