"""The workers that can be drilled, one short file each: what it declares, and the worker itself, to be imitated.

Each module has `ADAPTERS`, and runs as `python -m contracts.drills.adapters.<module>`. The declaration is read
without the framework and without Django; only the worker's process imports them.
"""

import importlib
from functools import cache

from contracts.drills.adapter import Adapter

MODULES = ("client", "sqlite_sample", "langgraph", "openai_agents", "dbos", "temporal", "restate")


@cache
def all_adapters() -> tuple[Adapter, ...]:
    """Return every adapter that comes with the workbench, in the order in which they are shown."""
    modules = (importlib.import_module(f"{__name__}.{module}") for module in MODULES)
    return tuple(adapter for module in modules for adapter in module.ADAPTERS)


def find_adapter(name: str) -> Adapter:
    """Return the adapter of this name; raises KeyError if there is none."""
    return {adapter.name: adapter for adapter in all_adapters()}[name]
