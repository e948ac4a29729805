"""What a page or a part of one holds, read as a browser would: for the tests that ask after its making."""

from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

VOID = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr")
)
UNNAMED = frozenset({"hidden", "submit"})  # inputs that need no label


@dataclass
class Element:
    """One element: its name, its attributes, the elements and the text in it."""

    name: str
    attributes: dict[str, str]
    parent: "Element | None" = None
    children: list["Element"] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    def __getitem__(self, name: str) -> str:
        return self.attributes.get(name, "")

    def every(self, *names: str) -> list["Element"]:
        """Return all elements of these names in this one; what a `<template>` holds is no part of the page."""
        if self.name == "template":
            return []
        found = [child for child in self.children if not names or child.name in names]
        return found + [deeper for child in self.children for deeper in child.every(*names)]

    def inside(self, name: str) -> bool:
        """Tell whether an element called `name` is around this one."""
        return self.parent is not None and (self.parent.name == name or self.parent.inside(name))

    @property
    def words(self) -> str:
        """Return all text in the element, spaces collapsed."""
        return " ".join(" ".join([*self.texts, *(child.words for child in self.children)]).split())


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.root = self.here = Element("", {})
        self.faults: list[str] = []
        self.broken = False

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs}, self.here)
        self.broken = tag == "wbr"
        if len(element.attributes) != len(attrs):
            self.faults.append(f"an attribute twice in {self.get_starttag_text()}")
        self.here.children.append(element)
        if tag not in VOID:
            self.here = element

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.here.children.append(Element(tag, {name: value or "" for name, value in attrs}, self.here))

    def handle_endtag(self, tag: str) -> None:
        if tag != self.here.name:
            self.faults.append(f"</{tag}> inside <{self.here.name}> at {self.getpos()}")
        elif self.here.parent is not None:
            self.here = self.here.parent

    def handle_data(self, data: str) -> None:
        if self.broken and self.here.texts:  # one word, which may be broken here
            self.here.texts[-1] += data
        else:
            self.here.texts.append(data)
        self.broken = False


def read(answer: Any) -> Element:
    """Return the root of an answer; fails if elements are not closed in order."""
    reader = _Reader()
    reader.feed(answer.content.decode())
    reader.close()
    assert reader.faults == []
    assert reader.here is reader.root, f"<{reader.here.name}> is not closed"
    return reader.root


def by_id(root: Element) -> dict[str, Element]:
    """Return id → element; fails if an id stands twice."""
    found: dict[str, Element] = {}
    for element in root.every():
        if name := element["id"]:
            assert name not in found, f"the id {name} stands twice"
            found[name] = element
    return found


def check_accessible(root: Element, *, part: bool = False) -> None:
    """Fail if a label, the target of a reference, a scope or a type is missing.

    `part`: the answer is swapped into a page, which may hold what is referred to.
    """
    ids = by_id(root)
    labelled = {label["for"] for label in root.every("label")}
    for element in root.every("input", "select", "textarea"):
        named = element["aria-label"] or element["id"] in labelled or element["type"] in UNNAMED
        assert named, f"no label for {element.attributes}"
    for label in root.every("label"):
        assert label["for"] in ids, label.attributes
    for element in root.every():
        for reference in ("aria-describedby", "aria-labelledby", "aria-controls"):
            lacking = [name for name in element[reference].split() if name not in ids]
            assert not lacking, (element.name, element.attributes, lacking)
    for cell in root.every("th"):
        assert cell["scope"] in ("col", "row"), cell.words
    for button in root.every("button"):
        assert button["type"] in ("submit", "button"), button.words
        assert button.words or button["aria-label"], button.attributes
    for link in root.every("a"):
        assert link["href"], link.words
        if link["href"].startswith("#") and not part:
            assert link["href"][1:] in ids, link["href"]


def summary_targets(root: Element) -> list[str]:
    """Return the ids that the links of the error summaries lead to; each must stand on the page."""
    ids = by_id(root)
    summaries = [one for one in root.every("section") if "error-summary" in one["class"].split()]
    targets = [link["href"].removeprefix("#") for summary in summaries for link in summary.every("a")]
    assert [target for target in targets if target not in ids] == []
    return targets


def filled(root: Element, action: str) -> dict[str, Any]:
    """Return what a browser would post from the form whose action ends with `action`, nothing touched."""
    (form,) = [
        one for one in root.every("form") if one["action"].endswith(action) and one["method"] == "post"
    ]
    return filled_form(form)


def filled_form(form: Element) -> dict[str, Any]:
    """Return what a browser would post from `form`, nothing touched and no button named."""
    values: dict[str, Any] = {}
    for one in form.every("input", "select", "textarea"):
        if one["name"] and (one["type"] not in ("checkbox", "radio") or "checked" in one.attributes):
            values[one["name"]] = _value(one)
    values.pop("csrfmiddlewaretoken", None)
    return values


def _value(element: Element) -> str:
    if element.name == "textarea":
        return _sent("".join(element.texts).removeprefix("\n"))
    if element.name == "select":
        options = element.every("option")
        chosen = [one for one in options if "selected" in one.attributes] or options[:1]
        return chosen[0]["value"] if chosen else ""
    return _sent(element.attributes.get("value", "on" if element["type"] == "checkbox" else ""))


def _sent(text: str) -> str:
    """Return `text` with the line ends that browsers send."""
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\n", "\r\n")
