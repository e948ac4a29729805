"""Workers to copy: each runs as a process of its own against a running workbench, see `manage.py example`."""
