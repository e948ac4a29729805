"""The audit of dependencies: what is known of one fails the check, silence of the service does not."""

import json
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

import pytest

PLACE = Path(__file__).parent.parent / ".ci" / "audit"
SOUND = {"name": "sound", "version": "1.0", "vulns": []}
LEFT_OUT = {"name": "ours", "skip_reason": "not on the index"}


@pytest.fixture
def audit():
    spec = spec_from_loader("audit", SourceFileLoader("audit", str(PLACE)))
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def fault(*versions):
    return {"name": "leaky", "version": "2.0", "vulns": [{"id": "GHSA-x", "fix_versions": list(versions)}]}


@pytest.mark.parametrize(
    ("versions", "told"), [(("2.1", "3.0"), "fixed in 2.1, 3.0"), ((), "fixed in no version yet")]
)
def test_a_known_fault_is_named_with_what_mends_it_and_fails(audit, capsys, versions, told):
    assert audit.tell([SOUND, fault(*versions), LEFT_OUT]) == 1
    said = capsys.readouterr().out
    assert f"leaky 2.0: GHSA-x, {told}" in said
    assert "2 dependencies audited, 1 not known to the service." in said


def test_nothing_known_passes(audit, capsys):
    assert audit.tell([SOUND]) == 0
    assert "1 dependencies audited" in capsys.readouterr().out


@pytest.fixture
def service(audit, monkeypatch, tmp_path):
    """Let a program of the test stand where pip-audit stands; it takes the same words."""

    def stand(script):
        program = tmp_path / "pip-audit"
        program.write_text(f"#!/usr/bin/env python3\nimport sys\n{script}\n")
        program.chmod(0o755)
        monkeypatch.setattr(audit, "AUDIT", [str(program)])
        monkeypatch.setattr(audit, "EXPORT", ["true"])  # whatever is locked

    return stand


def test_what_the_service_answers_decides(audit, service, capsys):
    answer = json.dumps({"dependencies": [fault("2.1")]})
    service(f"open(sys.argv[sys.argv.index('--output') + 1], 'w').write({answer!r})")
    assert audit.main() == 1
    assert "leaky 2.0" in capsys.readouterr().out


def test_a_service_that_does_not_answer_is_said_and_fails_nothing(audit, service, capsys):
    service("sys.exit('Connection refused')")
    assert audit.main() == 0
    assert "NOT audited: the service did not answer (Connection refused)" in capsys.readouterr().out
