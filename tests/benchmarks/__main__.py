"""Print figures: `uv run --group peers python -m tests.benchmarks NAME [--json FILE]`, NAME or `all`.

A benchmark is a module here with a `run()` that prints its table and returns its rows. Each has a process of its
own, because Django is told its database once. `--small` runs those that have `SMALL` with sizes that show only
that they work.
"""

import argparse
import importlib
import json
import pkgutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import tests.benchmarks as room

ROOT = Path(__file__).resolve().parents[2]


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
    parser.add_argument("--small", action="store_true", help="sizes that show only that it works")
    asked = parser.parse_args()
    if asked.name == "all":
        rows = [row for name in names() for row in _apart(name, small=asked.small)]
    else:
        module = importlib.import_module(f"tests.benchmarks.{asked.name}")
        rows = module.run(**(getattr(module, "SMALL", {}) if asked.small else {}))
    if asked.json:
        asked.json.write_text(json.dumps(rows, indent=1) + "\n", "utf-8")


def _apart(name: str, *, small: bool) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory(prefix="workbench-benchmark-") as folder:
        file = Path(folder, "rows.json")
        words = [sys.executable, "-m", "tests.benchmarks", name, "--json", str(file), *["--small"] * small]
        print(f"\n{name}", flush=True)
        subprocess.run(words, cwd=ROOT, check=True)
        rows: list[dict[str, Any]] = json.loads(file.read_text("utf-8"))
    return rows


if __name__ == "__main__":
    sys.exit(main())
