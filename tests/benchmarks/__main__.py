"""Print figures: `uv run --group peers python -m tests.benchmarks NAME [--json FILE]`, NAME or `all`.

A benchmark is a module here with a `run()` that prints its table and returns its rows.
"""

import argparse
import importlib
import json
import pkgutil
import sys
from pathlib import Path
from typing import Any

import tests.benchmarks as room


def names() -> list[str]:
    """Return the modules that can be asked for; each is imported only when it is run."""
    here = sorted(module.name for module in pkgutil.iter_modules(room.__path__) if not module.ispkg)
    return [name for name in here if not name.startswith(("test_", "_")) and _offers_run(name)]


def _offers_run(name: str) -> bool:
    source = (Path(room.__path__[0]) / f"{name}.py").read_text("utf-8")
    return "\ndef run(" in source


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("name", choices=[*names(), "all"])
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the rows there")
    asked = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for name in names() if asked.name == "all" else [asked.name]:
        rows += importlib.import_module(f"tests.benchmarks.{name}").run()
    if asked.json:
        asked.json.write_text(json.dumps(rows, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    sys.exit(main())
