"""The form of a pasted table or a CSV file."""

from typing import Any

from django import forms
from django.utils.translation import gettext, gettext_lazy, override

from contracts.rules.fingerprint import digest_bytes
from contracts.rules.parts import Part
from contracts.rules.pasted import Table, read_table
from contracts.rules.vocabulary import PASTE_MAX_BYTES

LANGUAGES = ("en", "zh-hans")


class PasteForm(forms.Form):
    """Text of a table, or a file that holds it; nothing is stored before it was shown and confirmed."""

    table = forms.CharField(
        label=gettext_lazy("Paste the rows here"),
        help_text=gettext_lazy(
            "Copied from a spreadsheet, or CSV. The first line may hold the column names."
        ),
        widget=forms.Textarea(attrs={"rows": 12, "class": "paste", "spellcheck": "false", "wrap": "off"}),
        required=False,
        strip=False,
    )
    file = forms.FileField(label=gettext_lazy("or choose a CSV file"), required=False)
    # The fingerprint of the text that was shown: only that text is stored.
    seen = forms.CharField(widget=forms.HiddenInput, required=False)
    leave_out = forms.BooleanField(
        label=gettext_lazy("Leave out the lines that need attention"), required=False
    )

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        upload = cleaned.get("file")
        if upload is not None:
            cleaned["table"] = self._text_of(upload)
        return cleaned

    def _text_of(self, upload: Any) -> str:
        if upload.size > PASTE_MAX_BYTES:
            self.add_error("file", gettext("At most %(limit)d bytes fit here.") % {"limit": PASTE_MAX_BYTES})
            return ""
        try:
            text = str(upload.read().decode("utf-8-sig"))
        except UnicodeDecodeError:
            text = "\0"
        if "\0" in text:
            words = gettext("The file is not UTF-8 text; save it as “CSV UTF-8” and try again.")
            self.add_error("file", words)
            return ""
        return text

    def fingerprint(self) -> str:
        """Return the SHA-256 of the text; line ends do not count, browsers change them."""
        text = self.cleaned_data["table"].replace("\r\n", "\n").replace("\r", "\n")
        return digest_bytes(text.encode("utf-8", "surrogatepass"))

    def was_shown(self) -> bool:
        """Tell whether the very text that is posted now was shown before."""
        return bool(self.cleaned_data["seen"] == self.fingerprint())

    def read(self, part: Part) -> Table:
        """Return the table as the rules read it."""
        return read_table(self.cleaned_data.get("table", ""), part, column_names(part))


def column_names(part: Part) -> dict[str, str]:
    """Return every name a column may bear, in lower case and in both languages → its field."""
    names = {field.name: field.name for field in part.given}
    for language in LANGUAGES:
        with override(language):
            names |= {gettext(field.label).lower(): field.name for field in part.given}
    return names
