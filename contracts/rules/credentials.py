"""What never enters: text that looks like a credential, found by its shape and never by its randomness.

Checksums are everywhere in a contract, so there is no entropy rule. Our own rules come first; behind them stand
the token patterns of detect-secrets, without its network checks.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from contracts.rules.verdict import Problem
from contracts.rules.words import N_, Labelled

LONGEST_POINTER_PART = 60


class Kind(Labelled):
    """The kinds of credential that a refusal names."""

    CLOUD_KEY = "cloud_key", N_("cloud access key")
    GITHUB = "github", N_("GitHub token")
    GITLAB = "gitlab", N_("GitLab token")
    SLACK = "slack", N_("Slack token")
    STRIPE = "stripe", N_("Stripe key")
    OPENAI = "openai", N_("OpenAI key")
    ANTHROPIC = "anthropic", N_("Anthropic key")
    GOOGLE = "google", N_("Google key")
    HUGGING_FACE = "hugging_face", N_("Hugging Face token")
    PACKAGE_REGISTRY = "package_registry", N_("package registry token")
    CHAT_BOT = "chat_bot", N_("chat bot token")
    MESSAGING = "messaging", N_("messaging service key")
    PAYMENT = "payment", N_("payment service key")
    AUTHORIZATION = "authorization", N_("authorization header")
    PRIVATE_KEY = "private_key", N_("private key")
    JWT = "jwt", N_("JSON web token")
    WORKBENCH = "workbench", N_("token of a worker")
    ADDRESS = "address", N_("password inside an address")
    PASSWORD = "password", N_("password with its value")
    SECRET = "secret", N_("secret or token with its value")


@dataclass(frozen=True, slots=True)
class Rule:
    """One shape of credential.

    The pattern is only tried where the lower-cased text holds one of `hints`: that keeps the scan of an ordinary
    field at a few microseconds. Every repetition is bounded, so that no text can make the scan slow.
    """

    kind: Kind
    hints: tuple[str, ...]
    pattern: re.Pattern[str]


# Words that stand where a value would stand in ordinary prose, and references to a place that keeps the value.
_NO_VALUE = (
    r"(?!(?:none|null|nil|true|false|yes|required|optional|unknown|missing|redacted|hidden|unset|empty|bearer|basic"
    r"|supported|unsupported|unlimited|expired|revoked|n/a)\b|[x*.•…_-]{3,}|[$%&@][{(A-Z]"
    r"|(?:vault|env|op|file|keyring|https?|arn|kms|secretsmanager):"
    r"|(?:sha|aes|rsa|ed|hmac|md|sm|utf)-?\d)"
)
_LETTER = r"""[^\s"'`,;，。；、<>{}()\[\]|\u2e80-\u9fff]"""
_QUOTE = r"""["'`]?"""
_LOOSE = rf"{_QUOTE}\s{{0,3}}(?:=>|:=|={{1,2}}|[:：＝])\s{{0,3}}{_QUOTE}"
_TIGHT = rf"{_QUOTE}={_QUOTE}"
_TELLING = rf"(?={_LETTER}{{0,80}}[0-9!@#$%^&*+=_])"
_MIXED = rf"(?={_LETTER}{{0,80}}[0-9])(?={_LETTER}{{0,80}}[A-Za-z])"
_LOGIN_WORDS = r"(?:password|passwd|passphrase|passcode|pwd)"
_KEY_WORDS = (
    r"(?<![A-Za-z])(?:secret[ _-]?access[ _-]?key|credentials?|secret|token"
    r"|(?:access|auth|refresh|client|api|bot|deploy|private|secret)[ _-]?(?:token|secret|key))"
)

OWN_RULES = (
    Rule(
        Kind.CLOUD_KEY,
        ("akia", "asia", "ltai", "akid"),
        re.compile(
            r"(?<![A-Za-z0-9])(?:(?:AKIA|ASIA)[0-9A-Z]{16}|LTAI[A-Za-z0-9]{12,26}|AKID[A-Za-z0-9]{28,36})"
            r"(?![A-Za-z0-9])"
        ),
    ),
    Rule(
        Kind.GITHUB,
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        re.compile(r"(?<![A-Za-z0-9])(?:gh[pousr]_[A-Za-z0-9]{20}|github_pat_[A-Za-z0-9_]{20})"),
    ),
    Rule(
        Kind.GITLAB,
        ("glpat-", "gldt-", "glrt-", "glptt-", "glcbt-", "glsoat-"),
        re.compile(r"(?<![A-Za-z0-9])gl(?:pat|dt|rt|ptt|cbt|soat)-[A-Za-z0-9_-]{16}"),
    ),
    Rule(
        Kind.SLACK,
        ("xox", "xapp-"),
        re.compile(r"(?<![A-Za-z0-9])(?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{10}"),
    ),
    Rule(
        Kind.STRIPE,
        ("sk_live_", "rk_live_", "sk_test_", "rk_test_", "whsec_"),
        re.compile(r"(?<![A-Za-z0-9])(?:[sr]k_(?:live|test)_[A-Za-z0-9]{10}|whsec_[A-Za-z0-9]{20})"),
    ),
    Rule(Kind.WORKBENCH, ("rsw_",), re.compile(r"(?<![A-Za-z0-9])rsw_[a-z2-7]{32}")),
    Rule(Kind.ANTHROPIC, ("sk-ant-",), re.compile(r"(?<![A-Za-z0-9])sk-ant-[A-Za-z0-9_-]{16}")),
    Rule(
        Kind.OPENAI,
        ("sk-",),
        re.compile(
            r"(?<![A-Za-z0-9])sk-(?:(?:proj|svcacct|admin)-[A-Za-z0-9_-]{20}|(?:or-v1-)?[A-Za-z0-9]{20})"
        ),
    ),
    Rule(
        Kind.GOOGLE,
        ("aiza", "gocspx-", "ya29."),
        re.compile(
            r"(?<![A-Za-z0-9])(?:AIza[A-Za-z0-9_-]{30}|GOCSPX-[A-Za-z0-9_-]{20}|ya29\.[A-Za-z0-9_-]{20})"
        ),
    ),
    Rule(Kind.HUGGING_FACE, ("hf_",), re.compile(r"(?<![A-Za-z0-9])hf_[A-Za-z0-9]{30}")),
    Rule(
        Kind.PACKAGE_REGISTRY,
        ("npm_", "pypi-ag", "_authtoken"),
        re.compile(
            r"(?<![A-Za-z0-9])npm_[A-Za-z0-9]{30}|pypi-Ag[A-Za-z0-9_-]{30}|:_authToken=[A-Za-z0-9_-]{8}"
        ),
    ),
    Rule(
        Kind.CHAT_BOT,
        (":",),
        # The part behind the colon mixes cases, or a date before a checksum would be taken for a token.
        re.compile(
            r"(?<!\w)\d{8,10}:(?=[\w-]{0,34}[A-Z])(?=[\w-]{0,34}[a-z])[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])"
        ),
    ),
    Rule(
        Kind.MESSAGING,
        ("ac", "sk", "-us"),
        re.compile(
            r"(?<![A-Za-z0-9])(?:(?:AC|SK)[0-9a-f]{32}|[0-9a-f]{32}-us[0-9]{1,2})(?![A-Za-z0-9])",
        ),
    ),
    Rule(
        Kind.AUTHORIZATION,
        ("authorization", "bearer", "basic"),
        re.compile(
            rf"(?i:authorization{_LOOSE}(?:bearer|basic|token|digest)\s{{1,3}}){_NO_VALUE}{_LETTER}{{8}}"
            r"|(?i:(?<![a-z])bearer)\s{1,3}(?=\S{0,200}[0-9])[A-Za-z0-9._~+/=-]{16}"
            r"|(?i:(?<![a-z])basic)\s{1,3}(?=[A-Za-z0-9+/]{0,200}(?:[0-9=]|[a-z][A-Z]))[A-Za-z0-9+/]{10}"
        ),
    ),
    Rule(
        Kind.PRIVATE_KEY,
        ("private key", "putty-user-key-file"),
        re.compile(r"-----\s?BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY|PuTTY-User-Key-File-[0-9]"),
    ),
    Rule(
        Kind.JWT,
        ("eyj",),
        re.compile(
            r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]{4,4000}\.[A-Za-z0-9_-]{0,4000}"
        ),
    ),
    Rule(
        Kind.ADDRESS,
        ("://",),
        re.compile(r"://[^\s/?#@:]{0,100}:[^\s/?#@]{1,200}@[\w\[]"),
    ),
    Rule(
        Kind.PASSWORD,
        ("passw", "passphrase", "passcode", "pwd"),
        re.compile(
            rf"{_LOGIN_WORDS}(?:{_TIGHT}{_NO_VALUE}{_LETTER}{{4}}|{_LOOSE}{_NO_VALUE}{_TELLING}{_LETTER}{{4}})"
            rf"|{_LOGIN_WORDS}[\"']\s{{0,3}}:\s{{0,3}}[\"']{_NO_VALUE}{_LETTER}{{4}}"
            # A line that holds nothing but the word and one value reads like a settings file.
            rf"|^[ \t\w.\"'-]{{0,40}}{_LOGIN_WORDS}{_LOOSE}{_NO_VALUE}{_LETTER}{{4,80}}{_QUOTE}\s{{0,3}}$",
            re.IGNORECASE | re.MULTILINE,
        ),
    ),
    Rule(
        Kind.SECRET,
        ("secret", "token", "api", "credential", "private", "access", "auth", "deploy"),
        re.compile(
            rf"{_KEY_WORDS}(?:{_TIGHT}{_NO_VALUE}(?=[0-9]{{0,20}}[^\s0-9]){_LETTER}{{4}}"
            rf"|{_LOOSE}{_NO_VALUE}{_MIXED}{_LETTER}{{6}})",
            re.IGNORECASE,
        ),
    ),
    Rule(
        Kind.PASSWORD,
        ("密码", "口令"),
        re.compile(
            rf"(?:密码|口令)(?:{_LOOSE}{_NO_VALUE}[!-~]{{4}}|\s{{0,2}}[是为]\s{{0,2}}{_QUOTE}{_MIXED}[!-~]{{4}})",
            re.IGNORECASE,
        ),
    ),
    Rule(
        Kind.SECRET,
        ("密钥", "令牌", "凭证"),
        re.compile(
            rf"(?:密钥|令牌|凭证)(?:{_LOOSE}|\s{{0,2}}[是为]\s{{0,2}}{_QUOTE}){_NO_VALUE}{_MIXED}[!-~]{{6}}",
            re.IGNORECASE,
        ),
    ),
)


@cache
def library_patterns() -> tuple[tuple[Kind, re.Pattern[str]], ...]:
    """Return the chosen patterns of detect-secrets.

    Imported on first use, because the library pulls in an HTTP client that a worker's process has no need of. Left
    out: whatever matches addresses of machines, short prefixes that archive call numbers share, words followed by a
    plain checksum, and patterns whose running time grows with the square of the text (our own rules cover those).
    """
    from detect_secrets.plugins import (
        aws,
        azure_storage_key,
        basic_auth,
        discord,
        github_token,
        gitlab_token,
        private_key,
        pypi_token,
        sendgrid,
        slack,
        square_oauth,
        stripe,
    )

    detectors = (
        (Kind.CLOUD_KEY, aws.AWSKeyDetector),
        (Kind.CLOUD_KEY, azure_storage_key.AzureStorageKeyDetector),
        (Kind.ADDRESS, basic_auth.BasicAuthDetector),
        (Kind.CHAT_BOT, discord.DiscordBotTokenDetector),
        (Kind.GITHUB, github_token.GitHubTokenDetector),
        (Kind.GITLAB, gitlab_token.GitLabTokenDetector),
        (Kind.PRIVATE_KEY, private_key.PrivateKeyDetector),
        (Kind.PACKAGE_REGISTRY, pypi_token.PypiTokenDetector),
        (Kind.MESSAGING, sendgrid.SendGridDetector),
        (Kind.SLACK, slack.SlackDetector),
        (Kind.PAYMENT, square_oauth.SquareOAuthDetector),
        (Kind.STRIPE, stripe.StripeDetector),
    )
    return tuple((kind, pattern) for kind, detector in detectors for pattern in detector.denylist)


def find_credential(text: str) -> Kind | None:
    """Return the kind of the first credential found anywhere in `text`, or None."""
    lowered = text.lower()
    for rule in OWN_RULES:
        for hint in rule.hints:  # no generator: thousands of rows are scanned at once
            if hint in lowered:
                if rule.pattern.search(text):
                    return rule.kind
                break
    for kind, pattern in library_patterns():
        if pattern.search(text):
            return kind
    return None


def check_no_credential(field: str, value: object) -> Problem | None:
    """Return a problem with code `credential` if `value` is, or holds anywhere inside, a credential.

    `value` may be a string or plain JSON of any shape. In JSON the name counts beside its value, so that
    `{"password": "…"}` is found, and the problem's field is `field` followed by the JSON pointer of the place.
    The value itself is never in the problem; the label in `values["kind"]` is a message id.
    """
    for parts, text in _texts(value):
        if kind := find_credential(text):
            sentence = N_(
                "This looks like a credential (%(kind)s). Keep it in a vault and name its place instead."
            )
            return Problem(field + safe_pointer(parts), "credential", sentence, {"kind": kind.label})
    return None


def _texts(value: object) -> Iterator[tuple[tuple[object, ...], str]]:
    """Yield every text to scan with the path to it; a mapping's entry is read as "name: value"."""
    waiting: list[tuple[tuple[object, ...], str, object]] = [((), "", value)]
    while waiting:
        path, name, item = waiting.pop()
        if isinstance(item, dict):
            waiting += [((*path, key), f"{key}: ", inner) for key, inner in reversed(item.items())]
        elif isinstance(item, list | tuple):
            waiting += [((*path, index), name, item[index]) for index in reversed(range(len(item)))]
        yield path, name + (str(item) if isinstance(item, str | int | float) else "")


def safe_pointer(parts: Iterable[object]) -> str:
    """Return the JSON pointer (RFC 6901) of a place, fit to be shown and stored.

    A name that looks like a credential is left out, unprintable characters become "?", and long names are cut.
    """
    return "".join("/" + _pointer_part(str(part)) for part in parts)


def _pointer_part(part: str) -> str:
    if find_credential(part):
        return "…"
    if len(part) > LONGEST_POINTER_PART:
        part = part[:LONGEST_POINTER_PART] + "…"
    shown = "".join(character if character.isprintable() else "?" for character in part)
    return shown.replace("~", "~0").replace("/", "~1")
