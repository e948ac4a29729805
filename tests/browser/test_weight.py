import gzip
from pathlib import Path

import django_htmx

ROOT = Path(__file__).resolve().parents[2] / "static"
HTMX = Path(django_htmx.__file__).parent / "static" / "django_htmx" / "htmx-2.min.js"


def compressed(paths):
    """Return the bytes that travel for these files."""
    return sum(len(gzip.compress(path.read_bytes(), 9)) for path in paths)


def test_the_styles_weigh_at_most_20_kilobytes():
    assert 0 < compressed(ROOT.rglob("*.css")) <= 20_000


def test_the_scripts_weigh_at_most_40_kilobytes_htmx_among_them():
    assert 0 < compressed([*ROOT.rglob("*.js"), HTMX]) <= 40_000
