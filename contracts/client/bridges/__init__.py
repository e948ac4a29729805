"""Bridges to frameworks that keep state of their own: theirs stays there, whether it may go on is asked here.

Each needs its framework, an optional group of pyproject.toml with the bridge's name: `uv sync --group langgraph`.
The examples beside them are programs to copy.
"""
