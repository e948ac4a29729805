from pathlib import Path

import pytest

from workbench import environment
from workbench.environment import EnvironmentRefused, read_database

WHOLE = {"default": 3, "minimum": 1, "maximum": 9}


def database(url):
    return read_database({"DATABASE_URL": url}, "DATABASE_URL", "")


@pytest.mark.parametrize("unset", [{}, {"X": ""}, {"X": "  "}])
def test_unset_and_empty_take_the_default(unset):
    assert environment.read_text(unset, "X", "d") == "d"
    assert environment.read_flag(unset, "X", True) is True
    assert environment.read_whole(unset, "X", **WHOLE) == 3
    assert environment.read_list(unset, "X", ("a",)) == ["a"]
    assert environment.read_path(unset, "X", Path("/d")) == Path("/d")
    assert environment.read_time_zone(unset, "X") == "UTC"
    assert environment.read_secret(unset, "X") == ""


@pytest.mark.parametrize(
    ("text", "flag"), [("1", True), ("Yes", True), ("ON", True), ("0", False), ("false", False)]
)
def test_it_reads_flags(text, flag):
    assert environment.read_flag({"X": text}, "X") is flag


def test_it_reads_one_of_several_words_and_the_first_where_none_is_said():
    assert environment.read_choice({}, "X", ("plain", "json")) == "plain"
    assert environment.read_choice({"X": "json"}, "X", ("plain", "json")) == "json"


@pytest.mark.parametrize(
    ("reader", "values"),
    [
        (lambda e, n: environment.read_choice(e, n, ("plain", "json")), ["JSON", "xml", "plain,json"]),
        (environment.read_text, ["a\x00b", "a\nb", "a\x7f"]),
        (environment.read_flag, ["2", "maybe", "ja", "truee", "-1"]),
        (
            lambda e, n: environment.read_whole(e, n, **WHOLE),
            ["0", "10", "-1", "1.5", "1_0", "五", "٣", "NaN", "9" * 40],
        ),
        (environment.read_list, ["a,,b", ",", "a b", "a,a"]),
        (environment.read_hosts, ["*", "http://a", "a:80", "a/b", "-a", "a,*"]),
        (lambda e, n: environment.read_path(e, n, Path("/")), ["relative/path", "./x"]),
        (environment.read_time_zone, ["Mars/Olympus", "../etc/passwd", "/etc/localtime", "Europe"]),
        (environment.read_secret, ["short", "a" * 60]),
        (
            lambda e, n: environment.read_address(e, n, ""),
            [
                "labels.example",
                "ftp://a.example",
                "http:///",
                "https://u:p@a.example",
                "https://a.example/path",
                "https://a.example?q=1",
                "https://a.example#x",
                "https://a.example:99999",
                "https://a.example:0",
                "https://a b.example",
                "https://[::1",
            ],
        ),
        (
            lambda e, n: environment.read_mail_address(e, n, ""),
            ["nobody", "a@", "@b.org", "a@b.org, c@d.org", "Work <a@b.org", "<a@b.org> x", "a b@c.org"],
        ),
    ],
)
def test_it_refuses_nonsense_by_name(reader, values):
    for value in values:
        with pytest.raises(EnvironmentRefused, match="THE_NAME") as refusal:
            reader({"THE_NAME": value}, "THE_NAME")
        if len(value) > 4:
            assert value not in str(refusal.value)


def test_it_reads_hosts_lists_and_paths():
    assert environment.read_hosts({"X": "a.example, .example.org,[::1]"}, "X") == [
        "a.example",
        ".example.org",
        "[::1]",
    ]
    assert environment.read_path({"X": "~/w"}, "X", Path("/")) == Path.home() / "w"


def test_it_names_a_misspelt_variable_and_the_likely_one():
    with pytest.raises(EnvironmentRefused, match=r"WORKBENCH_HTPS.*WORKBENCH_HTTPS"):
        environment.refuse_unknown({"WORKBENCH_HTPS": "1", "HOME": "/"}, "WORKBENCH_", ["WORKBENCH_HTTPS"])
    environment.refuse_unknown({"WORKBENCH_HTTPS": "1"}, "WORKBENCH_", ["WORKBENCH_HTTPS"])


@pytest.mark.parametrize("scheme", ["postgres", "postgresql"])
def test_it_reads_a_database_address(scheme):
    read = database(
        f"{scheme}://us%40er:p%3Aw%2F@db.example:6432/my%20db?sslmode=verify-full&connect_timeout=3"
    )
    assert read == {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": "my db",
        "USER": "us@er",
        "PASSWORD": "p:w/",
        "HOST": "db.example",
        "PORT": "6432",
        "OPTIONS": {"sslmode": "verify-full", "connect_timeout": "3"},
    }


def test_it_reads_a_socket_folder():
    read = database(
        "postgresql://me@/work?host=/run/my%20sockets&port=5433&options=-c%20statement_timeout%3D5s"
    )
    assert (read["HOST"], read["PORT"], read["NAME"]) == ("/run/my sockets", "5433", "work")
    assert read["OPTIONS"] == {"options": "-c statement_timeout=5s"}


def test_it_reads_an_ipv6_host():
    assert database("postgresql://me@[::1]:5432/work")["HOST"] == "::1"


@pytest.mark.parametrize(
    "url",
    [
        "mysql://u:hunter22@h/d",
        "sqlite:///hunter22",
        "hunter22",
        "postgresql://u:hunter22@h",
        "postgresql://u:hunter22@h/",
        "postgresql://u:hunter22@h/a/b",
        "postgresql://u:hunter22@h:port/d",
        "postgresql://u:hunter22@h:99999/d",
        "postgresql://u:hunter22@/d?host=/s&port=0",
        "postgresql://u:hunter22@h/d?host=other",
        "postgresql://u:hunter22@h/d#x",
        "postgresql://u:hunter22@h/d?sslmod=require",
        "postgresql://u:hunter22@h/d?sslmode=yes",
        "postgresql://u:hunter22@h/d?sslmode=",
        "postgresql://u:hunter22@h/d?sslmode=require&sslmode=disable",
        "postgresql://u:hunter22@h/d?sslmode",
        "postgresql://u:hunter22@[::1/d",
    ],
)
def test_it_refuses_other_addresses_without_repeating_the_password(url):
    with pytest.raises(EnvironmentRefused, match="DATABASE_URL") as refusal:
        database(url)
    assert "hunter22" not in str(refusal.value)


@pytest.mark.parametrize(
    ("address", "read"),
    [
        ("https://workbench.example.org/", "https://workbench.example.org"),
        ("http://[::1]:8000", "http://[::1]:8000"),
        ("", "http://localhost:8000"),
    ],
)
def test_it_reads_the_address_people_open(address, read):
    assert environment.read_address({"X": address}, "X", "http://localhost:8000") == read


@pytest.mark.parametrize(
    "sender",
    ["workbench@example.org", "Workbench <workbench@example.org>", '"Labels, spring" <w@example.org>'],
)
def test_it_reads_a_sender(sender):
    assert environment.read_mail_address({"X": sender}, "X", "") == sender


def mail_server(url):
    return environment.read_mailer({"WORKBENCH_SMTP": url}, "WORKBENCH_SMTP")["OPTIONS"]


def test_without_a_mail_server_mails_are_printed():
    assert environment.read_mailer({}, "X") == {"BACKEND": "django.core.mail.backends.console.EmailBackend"}


def test_it_reads_a_mail_server():
    assert mail_server("smtp://us%40er:p%3Aw%2F@mail.example?tls=start") == {
        "host": "mail.example",
        "port": 587,
        "username": "us@er",
        "password": "p:w/",
        "use_tls": True,
        "use_ssl": False,
        "timeout": 30,
    }


@pytest.mark.parametrize(
    ("url", "port", "tls", "ssl"),
    [
        ("smtp://mail.example", 25, False, False),
        ("smtp://mail.example:2525/", 2525, False, False),
        ("smtp://mail.example?tls=start", 587, True, False),
        ("smtps://u:p@mail.example", 465, False, True),
        ("smtp://u:p@localhost:1025", 1025, False, False),
    ],
)
def test_each_way_to_a_mail_server_has_its_port(url, port, tls, ssl):
    read = mail_server(url)
    assert (read["port"], read["use_tls"], read["use_ssl"]) == (port, tls, ssl)


@pytest.mark.parametrize(
    "url",
    [
        "mail.example:25:hunter22",
        "http://u:hunter22@mail.example",
        "smtp://u:hunter22@",
        "smtp://u:hunter22@mail.example",
        "smtp://u:hunter22@mail.example:x",
        "smtp://u:hunter22@mail.example:0?tls=start",
        "smtp://u:hunter22@mail.example:99999?tls=start",
        "smtp://:hunter22@mail.example?tls=start",
        "smtp://hunter22@mail.example?tls=start",
        "smtp://u:hunter22@mail.example?tls=yes",
        "smtp://u:hunter22@mail.example?tls=start&tls=start",
        "smtp://u:hunter22@mail.example?timeout=1",
        "smtps://u:hunter22@mail.example?tls=start",
        "smtps://u:hunter22@mail.example/path",
        "smtps://u:hunter22@mail.example#x",
        "smtps://u:hunter22@[::1",
    ],
)
def test_it_refuses_other_mail_servers_without_repeating_the_password(url):
    with pytest.raises(EnvironmentRefused, match="WORKBENCH_SMTP") as refusal:
        mail_server(url)
    assert "hunter22" not in str(refusal.value)
