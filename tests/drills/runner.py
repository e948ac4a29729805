"""A runner to be killed: `python -m tests.drills.runner FOLDER` freezes the unfenced writer."""

import sys
from pathlib import Path

import django


def main(folder):
    """Run one window, with all that it needs below `folder`."""
    django.setup()
    from django.conf import settings

    from contracts.rules.drilling import Target
    from contracts.rules.windows import Window
    from tests.drills.cells import Drill
    from tests.drills.unfenced import ADAPTER

    settings.WORKBENCH_DATA = Path(folder) / "workbench"
    Drill(Path(folder)).run(ADAPTER, Window.FROZEN_OWNER, Target.PLAIN)


if __name__ == "__main__":
    main(*sys.argv[1:])
