"""A passkey as a browser would have set it up; nobody holds its private half."""

from hashlib import sha256
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from fido2.cose import ES256
from fido2.utils import websafe_encode
from fido2.webauthn import AttestationObject, AttestedCredentialData, AuthenticatorData, CollectedClientData


def a_passkey(name: str = "Key of the tests", host: str = "testserver") -> dict[str, Any]:
    """Return what is stored of a passkey for the site `host`."""
    key_id = sha256(name.encode()).digest()
    public_key = ES256.from_cryptography_key(generate_private_key(SECP256R1()).public_key())
    told = AuthenticatorData.create(
        sha256(host.encode()).digest(),
        AuthenticatorData.FLAG.UP | AuthenticatorData.FLAG.AT,
        0,
        AttestedCredentialData.create(b"\x00" * 16, key_id, public_key),
    )
    said = CollectedClientData.create("webauthn.create", b"challenge", f"https://{host}")
    return {
        "name": name,
        "credential": {
            "id": websafe_encode(key_id),
            "rawId": websafe_encode(key_id),
            "type": "public-key",
            "response": {
                "clientDataJSON": websafe_encode(said),
                "attestationObject": websafe_encode(AttestationObject.create("none", told, {})),
            },
            "clientExtensionResults": {},
        },
    }
