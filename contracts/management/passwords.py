"""Passwords that a machine invents: long enough, and easy to read off a screen."""

import secrets

LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"  # without those that look like another
GROUPS, GROUP = 4, 5


def new_password() -> str:
    """Return a password of four groups, some 99 bits."""
    return "-".join("".join(secrets.choice(LETTERS) for _ in range(GROUP)) for _ in range(GROUPS))
