"""What a browser takes for a credential is what the rules take for one."""

import pytest
from django.templatetags.static import static

from contracts.rules.credentials import find_credential
from tests.rules.test_credentials import INNOCENT, SECRETS, filler

# By the script that the pages use, and the shapes that a page hands it.
LOOK = """async ({ script, texts }) => {
  const { secretIn, shapes } = await import(script);
  return texts.map((text) => shapes.indexOf(secretIn(text)));
}"""
# Where the two languages differ by themselves: letters, digits and spaces beyond ASCII, cases, ends of lines.
DIFFERENT = [
    "é" + "110201543" + ":" + "AA" + filler(33),
    "١١٠٢٠١٥٤٣" + ":" + "AA" + filler(33),
    "auth" + "orization\u3000:\u2003Bearer\x85" + filler(12),
    "AUTH" + "ORIZATION: bEaReR " + filler(12),
    "xbear" + "er " + filler(40),
    "pass" + "word: nonе" + "xyz",
    "pass" + "word: noneé" + "1",
    "line\u2028PASS" + "WORD: swordfish",
    "first\r\nPASS" + "WORD: swordfish\r\nlast",
    "𠀀𠀀 pass" + "word = 𠀀𠀀𠀀𠀀1",
    "gl" + "imt-" + filler(25) + "é",
]


def first_place(text):
    lowered = text.lower()
    for place, (rule, python) in enumerate(every_rule()):
        if (rule is None or any(hint in lowered for hint in rule.hints)) and python.search(text):
            return place
    return -1


def every_rule():
    from contracts.rules.credentials import OWN_RULES, library_patterns

    return [
        *((rule, rule.pattern) for rule in OWN_RULES),
        *((None, pattern) for _, pattern in library_patterns()),
    ]


@pytest.fixture
def texts():
    plain = [text for text, _ in SECRETS] + INNOCENT + DIFFERENT
    return plain + ["馆藏说明。\n" * 200 + text + "\nMore of the label." for text in plain]


def test_a_browser_finds_by_the_very_rule_what_the_server_finds(open_browser, transactional_db, texts):
    page = open_browser()
    page.goto("/worksheet/")
    found = page.evaluate(LOOK, {"script": static("keeping.js"), "texts": texts})
    assert dict(zip(texts, found, strict=True)) == {text: first_place(text) for text in texts}
    assert [place >= 0 for place in found] == [find_credential(text) is not None for text in texts]
