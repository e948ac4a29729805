import ast
import io
import logging
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from django.core.exceptions import PermissionDenied
from django.core.management import call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.utils.module_loading import import_string

import workbench.settings
from workbench import checks
from workbench.catalogues import compile_catalogues
from workbench.folder import StartRefused, ensure_secret_key, stored_secret_key
from workbench.logs import ReticentFormatter
from workbench.proxying import proxy_variables
from workbench.readiness import refuse_newer_database, refuse_unusable_database

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.django_db
def test_what_machines_are_answered_bears_the_policy_of_pages(client):
    policy = client.get("/healthz")["Content-Security-Policy"]
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy


@pytest.mark.django_db
def test_the_checks_pass():
    call_command("check", databases=["default"])
    assert checks.check_server_version(databases=["default"]) == []


@pytest.mark.parametrize(
    ("check", "code", "changes"),
    [
        (
            checks.check_middleware,
            "E003",
            {"MIDDLEWARE": ["django.contrib.auth.middleware.LoginRequiredMiddleware"]},
        ),
        (
            checks.check_middleware,
            "E004",
            {"MIDDLEWARE": ["django.middleware.csp.ContentSecurityPolicyMiddleware"]},
        ),
        (checks.check_policy, "E005", {"SECURE_CSP": {}}),
        (
            checks.check_policy,
            "E005",
            {"SECURE_CSP": {"default-src": ["'none'"], "script-src": ["'unsafe-inline'"]}},
        ),
        (checks.check_anonymous, "E006", {"ANONYMOUS_USER_NAME": "anyone"}),
        (checks.check_cookies, "W001", {"LANGUAGE_COOKIE_SECURE": False, "PASSWORD_HASHERS": ["Argon2"]}),
        (
            checks.check_cookies,
            "W002",
            {"SECRET_KEY_KEPT": False, "LANGUAGE_COOKIE_SECURE": True, "PASSWORD_HASHERS": ["Argon2"]},
        ),
        (checks.check_cookies, "W003", {"LANGUAGE_COOKIE_SECURE": True}),
    ],
)
def test_each_check_finds_its_fault(settings, check, code, changes):
    for name, value in changes.items():
        setattr(settings, name, value)
    assert [message.id for message in check(app_configs=None)] == [f"workbench.{code}"]


@pytest.mark.parametrize(
    ("name", "value"),
    [("ENGINE", "django.db.backends.sqlite3"), ("ATOMIC_REQUESTS", True), ("AUTOCOMMIT", False)],
)
def test_settings_that_undo_the_gates_transactions_are_found(monkeypatch, settings, name, value):
    monkeypatch.setitem(settings.DATABASES["default"], name, value)
    assert [message.id for message in checks.check_database_settings()] == ["workbench.E002"]


@pytest.mark.django_db
def test_an_unusable_database_is_refused_without_its_password(monkeypatch):
    refuse_unusable_database()
    monkeypatch.setitem(connection.settings_dict, "HOST", "/nowhere")
    monkeypatch.setitem(connection.settings_dict, "PASSWORD", "hunter22")
    with pytest.raises(StartRefused, match="does not answer") as refusal:
        refuse_unusable_database()
    assert "hunter22" not in str(refusal.value)


@pytest.mark.django_db
def test_a_database_written_by_a_newer_workbench_is_refused():
    refuse_newer_database()
    MigrationRecorder(connection).record_applied("auth", "9999_from_the_future")
    with pytest.raises(StartRefused, match=r"auth\.9999_from_the_future"):
        refuse_newer_database()


def test_the_secret_key_is_made_once_and_kept(tmp_path):
    ensure_secret_key(tmp_path)
    kept = stored_secret_key(tmp_path)
    ensure_secret_key(tmp_path)
    assert stored_secret_key(tmp_path) == kept
    assert len(kept) > 80
    assert [path.name for path in tmp_path.iterdir()] == ["secret-key"]


def test_log_lines_keep_quiet_about_rows():
    record = logging.LogRecord(
        "x", logging.ERROR, "", 1, "duplicate key\nDETAIL:  Key (a)=(hunter22) exists.\nmore", (), None
    )
    assert ReticentFormatter().format(record) == "duplicate key\nmore"


@pytest.mark.parametrize(("status", "told"), [(403, False), (404, False), (500, True)])
def test_a_refused_request_is_one_line_and_a_broken_one_has_its_traceback(status, told):
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    handler.setFormatter(ReticentFormatter())
    for name in workbench.settings.LOGGING["handlers"]["stderr"]["filters"]:
        handler.addFilter(import_string(workbench.settings.LOGGING["filters"][name]["()"])())
    error = PermissionDenied("nobody's")
    record = logging.LogRecord(
        "django.request", logging.WARNING, "", 1, "Said", (), (type(error), error, None)
    )
    record.status_code = status
    handler.handle(record)
    assert ("nobody's" in written.getvalue()) is told
    assert told or written.getvalue() == "Said\n"


def write_catalogue(folder, text="hello"):
    source = folder / "zh_Hans" / "LC_MESSAGES" / "django.po"
    source.parent.mkdir(parents=True, exist_ok=True)
    source.write_text(
        f'msgid ""\nmsgstr "Content-Type: text/plain; charset=utf-8\\n"\n\nmsgid "x"\nmsgstr "{text}"\n'
    )
    return source


def test_a_catalogue_is_compiled_when_missing_or_older(tmp_path):
    source = write_catalogue(tmp_path)
    assert compile_catalogues(tmp_path) == [source.with_suffix(".mo")]
    assert compile_catalogues(tmp_path) == []
    os.utime(source.with_suffix(".mo"), (0, 0))
    assert compile_catalogues(tmp_path) == [source.with_suffix(".mo")]


def test_a_catalogue_that_cannot_be_compiled_is_a_warning(tmp_path):
    write_catalogue(tmp_path).write_bytes(b'msgid "x"\nmsgstr "\xff"\n')
    with pytest.warns(UserWarning, match="could not be compiled"):
        assert compile_catalogues(tmp_path) == []


def test_a_folder_that_cannot_be_written_is_a_warning(tmp_path, monkeypatch):
    write_catalogue(tmp_path)

    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("workbench.catalogues.write_mo", refuse)
    with pytest.warns(UserWarning, match="could not be compiled"):
        assert compile_catalogues(tmp_path) == []


def test_every_variable_is_in_the_readme():
    listed = set(
        re.findall(r"^\| `(WORKBENCH_[A-Z_]+)`", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE)
    )
    with_a_target = proxy_variables({"WORKBENCH_PROXY_TARGETS": "cms=https://cms.example.org/api"})
    assert listed == {*workbench.settings.VARIABLES, *with_a_target}


def variables_named_in_the_program():
    """Return how often the program names each variable: a text that is a variable's name and nothing else."""
    trees = [ast.walk(ast.parse(path.read_text("utf-8"))) for path in (ROOT / "workbench").rglob("*.py")]
    texts = [node.value for tree in trees for node in tree if isinstance(node, ast.Constant)]
    return Counter(
        text for text in texts if isinstance(text, str) and re.fullmatch("WORKBENCH(_[A-Z]+)+", text)
    )


def test_every_variable_that_is_listed_is_read_and_no_other():
    named = variables_named_in_the_program()
    listed = {*workbench.settings.VARIABLES, *proxy_variables({})}
    assert set(named) <= listed
    read_elsewhere = {"WORKBENCH_BROWSER", *proxy_variables({})}
    assert [name for name in listed - read_elsewhere if named[name] < 2] == []  # once listed, once read


def test_production_settings_pass_the_deployment_check(plain_environment):
    environment = plain_environment | {
        "WORKBENCH_HTTPS": "1",
        "WORKBENCH_SECRET_KEY": "0123456789abcdef" * 5,
        "WORKBENCH_SMTP": "smtps://user:password@mail.example",
        "WORKBENCH_MAIL_FROM": "workbench@example.org",
    }
    command = [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.django_db
def test_no_migration_is_missing():
    call_command("makemigrations", check=True, dry_run=True, verbosity=0)


def test_mail_by_a_server_needs_a_sender(plain_environment):
    environment = plain_environment | {"WORKBENCH_SMTP": "smtps://user:hunter22@mail.example"}
    done = subprocess.run(
        [sys.executable, "manage.py", "check"], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert done.stderr == "WORKBENCH_MAIL_FROM must be set where WORKBENCH_SMTP is.\n"


@pytest.mark.parametrize(("seconds", "code"), [("30", 1), ("31", 0), ("0", 0)])
def test_a_limit_that_would_end_a_wait_in_order_is_refused(plain_environment, seconds, code):
    environment = plain_environment | {"WORKBENCH_STATEMENT_SECONDS": seconds}
    done = subprocess.run(
        [sys.executable, "manage.py", "check"], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert done.returncode == code
    assert ("WORKBENCH_STATEMENT_SECONDS must be 0 or more" in done.stderr) is bool(code)
