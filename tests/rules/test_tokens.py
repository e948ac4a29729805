import secrets

import pytest

from contracts.rules.credentials import Kind, find_credential
from contracts.rules.tokens import SECRET_BYTES, is_token, make_token, token_digest


def test_a_token_says_what_it_is_and_is_known_to_be_whole():
    token = make_token(secrets.token_bytes(SECRET_BYTES))
    assert token.startswith("rsw_")
    assert is_token(token)
    assert len(token_digest(token)) == 64


def test_it_holds_enough_chance():
    assert SECRET_BYTES * 8 >= 128
    with pytest.raises(ValueError, match="20 bytes"):
        make_token(b"short")


def test_no_token_with_one_other_character_is_whole():
    token = make_token(bytes(range(SECRET_BYTES)))
    for place in range(len(token)):
        for letter in "a7z":
            changed = token[:place] + letter + token[place + 1 :]
            assert is_token(changed) is (changed == token)


@pytest.mark.parametrize("text", ["", "rsw_", "rsw_" + "a" * 39, "ghp_" + "a" * 39, "RSW_" + "A" * 39])
def test_what_is_no_token_is_not_taken_for_one(text):
    assert not is_token(text)


def test_a_token_is_a_credential_wherever_it_stands():
    token = make_token(secrets.token_bytes(SECRET_BYTES))
    assert find_credential(f"The worker uses {token} here.") is Kind.WORKBENCH
