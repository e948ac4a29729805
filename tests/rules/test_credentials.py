import base64
import json
from itertools import cycle, islice

import pytest

from contracts.rules.credentials import Kind, check_no_credential, find_credential, safe_pointer

# Every made-up secret is put together here at run time, so that the repository holds nothing that looks like one.
MIXED = "aB3dE5gH7jK9mN2pQ4sT6vX8zW1y"
UPPER = "QX7LM2RT9KW4ZB5N"
LOWER_HEX = "3f9a1c07be52d846"


def filler(length, letters=MIXED):
    return "".join(islice(cycle(letters), length))


def base64url(text):
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


JWT = ".".join([base64url('{"alg":"HS256"}'), base64url('{"sub":"worker-7"}'), filler(43)])
SECRETS = [
    ("AKI" + "A" + filler(16, UPPER), Kind.CLOUD_KEY),
    ("key id ASI" + "A" + filler(16, UPPER) + " for the bucket", Kind.CLOUD_KEY),
    ("LTA" + "I" + filler(20), Kind.CLOUD_KEY),
    ("AKI" + "D" + filler(32), Kind.CLOUD_KEY),
    ("ABI" + "A" + filler(16, UPPER), Kind.CLOUD_KEY),
    ("Account" + "Key=" + filler(86) + "==", Kind.CLOUD_KEY),
    ("gh" + "p_" + filler(36), Kind.GITHUB),
    ("gh" + "o_" + filler(36), Kind.GITHUB),
    ("github" + "_pat_" + filler(22) + "_" + filler(59), Kind.GITHUB),
    ("rs" + "w_" + filler(40, "abcdefghijklmnopqrstuvwxyz234567"), Kind.WORKBENCH),
    ("gl" + "pat-" + filler(20), Kind.GITLAB),
    ("gl" + "agent-" + filler(50), Kind.GITLAB),
    ("xo" + "xb-" + "123456789012-" + filler(24), Kind.SLACK),
    ("xo" + "xp-" + filler(30, "0123456789-"), Kind.SLACK),
    (
        "/".join(["https:/", "hooks." + "slack.com", "services", "T" + UPPER, "B" + UPPER, filler(24)]),
        Kind.SLACK,
    ),
    ("sk_" + "live_" + filler(24), Kind.STRIPE),
    ("rk_" + "live_" + filler(24), Kind.STRIPE),
    ("wh" + "sec_" + filler(32), Kind.STRIPE),
    ("sk-" + filler(48), Kind.OPENAI),
    ("sk-" + "proj-" + filler(60), Kind.OPENAI),
    ("sk-" + "ant-" + "api03-" + filler(80), Kind.ANTHROPIC),
    ("AI" + "za" + filler(35), Kind.GOOGLE),
    ("GOC" + "SPX-" + filler(28), Kind.GOOGLE),
    ("h" + "f_" + filler(34), Kind.HUGGING_FACE),
    ("np" + "m_" + filler(36), Kind.PACKAGE_REGISTRY),
    ("pypi" + "-AgEI" + filler(120), Kind.PACKAGE_REGISTRY),
    ("//registry.example/:_auth" + "Token=" + filler(36, LOWER_HEX), Kind.PACKAGE_REGISTRY),
    ("110201543" + ":" + "AA" + filler(33), Kind.CHAT_BOT),
    ("M" + filler(23) + "." + filler(6) + "." + filler(27), Kind.CHAT_BOT),
    ("A" + "C" + filler(32, LOWER_HEX), Kind.MESSAGING),
    (filler(32, LOWER_HEX) + "-us" + "12", Kind.MESSAGING),
    ("S" + "G." + filler(22) + "." + filler(43), Kind.MESSAGING),
    ("sq0" + "csp-" + filler(43), Kind.PAYMENT),
    ("Authorization: " + "Bearer " + filler(12), Kind.AUTHORIZATION),
    ("curl with bear" + "er " + filler(40), Kind.AUTHORIZATION),
    ("Bas" + "ic " + base64.b64encode(b"clerk:letmein1").decode(), Kind.AUTHORIZATION),
    ("-----BEGIN " + "RSA PRIVATE" + " KEY-----\n" + filler(64), Kind.PRIVATE_KEY),
    ("-----BEGIN " + "OPENSSH PRIVATE" + " KEY-----", Kind.PRIVATE_KEY),
    ("PuTTY-User-" + "Key-File-2: ssh-rsa", Kind.PRIVATE_KEY),
    ("the header said " + JWT, Kind.JWT),
    ("postgres" + "://clerk:" + "open1sesame" + "@db.example/archive", Kind.ADDRESS),
    ("https" + "://:" + filler(20) + "@museum.example/", Kind.ADDRESS),
    ("pass" + "word=" + "swordfish", Kind.PASSWORD),
    ("log in as clerk with pass" + "word: " + "hunter2", Kind.PASSWORD),
    ("Pass" + "word: " + "swordfish", Kind.PASSWORD),
    ("first line\nDB_PASS" + "WORD: '" + "swordfish" + "'\nlast line", Kind.PASSWORD),
    ('{"pass' + 'word":"' + "swordfish" + '"}', Kind.PASSWORD),
    ("pwd := " + filler(9), Kind.PASSWORD),
    ("api" + "_key: " + filler(16), Kind.SECRET),
    ("API" + " key：" + filler(16), Kind.SECRET),
    ("client" + "Secret = '" + filler(16) + "'", Kind.SECRET),
    ("sec" + "ret=" + "rosebud", Kind.SECRET),
    ("https://cms.example/page?tok" + "en=" + filler(12), Kind.SECRET),
    ("tok" + "en: " + filler(12), Kind.SECRET),
    ("内容系统密" + "码：" + "letmein", Kind.PASSWORD),
    ("密" + "码是 " + "abc123", Kind.PASSWORD),
    ("口" + "令: " + "sesame88", Kind.PASSWORD),
    ("密" + "钥：" + filler(16), Kind.SECRET),
    ("令" + "牌：" + filler(16), Kind.SECRET),
]

INNOCENT = [
    "",
    "The worker drafts a searchable description for every photograph.",
    "The secret garden, oil on canvas, 1904",
    "The secret: nobody ever opened the box.",
    "token budget 2000",
    "Token budget: 2000 per attempt",
    "token=2000",
    "max_tokens=4096",
    "tokens: 12,500",
    "Token: copper, issued 1798 by a tavern keeper",
    "idempotency key: supported",
    "Idempotency-Key: 5f1e6c9a-8a53-4c1f-9d53-0a8a6c6a4e5b",
    "Password: required",
    "The password: see the vault of the archive",
    "password = ${CMS_PASSWORD}",
    "password: ********",
    "api key: none",
    "secret: vault:museum/cms-publisher-2",
    "secret = env:CMS_TOKEN_2",
    "Authorization: Bearer <token>",
    "The bearer of this letter may enter the reading room in 1931.",
    "A basic understanding of archives is expected.",
    "Basic description of the collection",
    "密码学展览",
    "密码：见保险库，由值班人员保管",
    "展品说明：二战时期的密码机，编号 A-17",
    "密钥：AES-256 算法介绍",
    "令牌：2000",
    "令牌预算：每次尝试 2000",
    "口令与暗号：清末会党文献",
    "馆藏照片 0042，已由编目员确认。",
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "sha256: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "20261101:9f86d081884c7d659a2feaa0c55ad015a3b",
    "20261101:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "HMAC9f86d081884c7d659a2feaa0c55ad015",
    "md5 d41d8cd98f00b204e9800998ecf8427e, size 10485760",
    "5f1e6c9a-8a53-4c1f-9d53-0a8a6c6a4e5b",
    "https://museum.example/labels/2026/bronze-mirror?version=3#draft",
    "ssh://git@forge.example:2222/museum/labels.git",
    "s3://archive-originals/box-12/photo-0042.tif",
    "/srv/archive/originals/box-12/photo-0042.tif",
    "C:\\archive\\box-12\\photo-0042.tif",
    "curator@museum.example",
    "Meeting at 10:30@reading-room, see http://intra.example:8080/@board",
    "task-2026-11-photo-archive-box-12-round-0001",
    "risk-assessment-2026-photographs-of-the-harbour",
    "museum.label:publish-2026.11:round-1",
    "APB20240001 and AKC2026000123 are call numbers",
    "Bronze mirror with lions and grapes. Tang dynasty, 618-907. Diameter 24.1 cm.",
    "海兽葡萄纹铜镜，唐代，直径 24.1 厘米。",
    "The label wrongly said 1911; the deed of gift says 1912.",
    "lease 60 s, generation 7, attempt 3 of 5",
    "cost 12.3400 EUR, 18,250 tokens, 41 model turns",
    '{"tool":"publish_label","round":1,"parameters":{"page":"bronze-mirror","version":3}}',
    "npm run build; pypi-server mirrors are off",
    "eyJ is how the encoded header starts",
]


def test_there_are_enough_examples():
    assert len(SECRETS) >= 40
    assert len(INNOCENT) >= 40


@pytest.mark.parametrize(("text", "kind"), SECRETS, ids=range(len(SECRETS)))
def test_it_finds_a_made_up_secret(text, kind):
    assert find_credential(text) is kind


@pytest.mark.parametrize(("text", "_kind"), SECRETS, ids=range(len(SECRETS)))
def test_it_finds_it_in_the_middle_of_a_long_text(text, _kind):
    assert find_credential("馆藏说明。\n" * 200 + text + "\nMore of the label.") is not None


@pytest.mark.parametrize("text", INNOCENT)
def test_it_passes_an_innocent_line(text):
    assert find_credential(text) is None


def test_it_passes_all_innocent_lines_together():
    assert find_credential("\n".join(INNOCENT)) is None


def test_every_kind_has_an_example():
    assert {kind for _, kind in SECRETS} == set(Kind)


def test_a_problem_names_field_and_kind_but_never_the_value():
    secret = "gh" + "p_" + filler(36)
    problem = check_no_credential("purpose", f"use {secret} please")
    assert (problem.field, problem.code, problem.values) == (
        "purpose",
        "credential",
        {"kind": Kind.GITHUB.label},
    )
    assert secret not in repr(problem)
    assert problem.sentence % problem.values


def test_it_passes_values_without_a_credential():
    for value in ("", "a label", None, 7, True, 1.5, [], {"a": ["b", {"c": None}]}, ("x",), object()):
        assert check_no_credential("field", value) is None


def test_it_looks_inside_json_and_gives_the_pointer():
    value = {
        "page": "bronze-mirror",
        "headers": [{"ok": "yes"}, {"Authorization": "Bear" + "er " + filler(12)}],
    }
    problem = check_no_credential("parameters", value)
    assert (problem.field, problem.values["kind"]) == (
        "parameters/headers/1/Authorization",
        Kind.AUTHORIZATION.label,
    )


def test_a_name_counts_beside_its_value():
    assert check_no_credential("p", {"pass" + "word": "sword" + "fish"}).field == "p/password"
    assert check_no_credential("p", {"pass" + "word": 123456}).code == "credential"
    assert check_no_credential("p", {"password": ""}) is None
    assert check_no_credential("p", {"password": {"place": "vault"}}) is None
    assert check_no_credential("p", {"max_tokens": 2000, "token": 2000}) is None


def test_canonical_json_text_is_read_the_same_way():
    text = json.dumps({"a": 1, "pass" + "word": "sword" + "fish"}, separators=(",", ":"))
    assert find_credential(text) is Kind.PASSWORD


def test_the_first_place_is_named():
    secret = "gh" + "p_" + filler(36)
    assert check_no_credential("f", [{"b": secret, "a": secret}, secret]).field == "f/0/b"


def test_a_pointer_escapes_cuts_and_hides():
    assert safe_pointer([]) == ""
    assert safe_pointer(["a/b", "c~d", 0, "馆藏"]) == "/a~1b/c~0d/0/馆藏"
    assert safe_pointer(["gh" + "p_" + filler(36)]) == "/…"
    assert safe_pointer(["x" * 61]) == "/" + "x" * 60 + "…"
    assert safe_pointer(["\x00\ud800\u202e"]) == "/???"
