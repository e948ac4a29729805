"""The application as one worker process of `manage.py up` loads it: a worker never outlives its parent."""

import multiprocessing
import os
import threading

from django.conf import settings

from workbench.lanes import Lanes
from workbench.wsgi import application as answering

application = Lanes(answering, settings.THREADS)


def _leave_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        # Ends when the parent does, kill -9 included. An orphan would keep the port and the data folder in use.
        parent.join()
        os._exit(1)


threading.Thread(target=_leave_with_parent, name="leave-with-parent", daemon=True).start()
