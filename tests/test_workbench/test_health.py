"""What machines ask: whether it lives, whether the database answers, whether requests are welcome."""

import pytest
from django.db import DatabaseError, connection
from django.db.migrations.recorder import MigrationRecorder

from workbench import health

QUESTIONS = ("/livez", "/healthz", "/readyz")


@pytest.mark.django_db
@pytest.mark.parametrize("where", QUESTIONS)
def test_a_sound_workbench_answers_ok_to_strangers_and_no_cache_keeps_it(client, where):
    answer = client.get(where)
    assert (answer.status_code, answer.content) == (200, b"ok\n")
    assert "no-store" in answer["Cache-Control"]
    assert client.post(where).status_code == 405


@pytest.mark.parametrize(("where", "status"), [("/livez", 200), ("/healthz", 503), ("/readyz", 503)])
@pytest.mark.django_db
def test_a_database_that_is_away_ends_readiness_and_not_life(client, monkeypatch, where, status):
    def refuse():
        raise DatabaseError("hunter22")

    monkeypatch.setattr(connection, "cursor", refuse)
    answer = client.get(where)
    assert answer.status_code == status
    assert b"hunter22" not in answer.content


@pytest.mark.django_db
def test_it_is_not_ready_while_a_migration_is_missing(client):
    MigrationRecorder(connection).record_unapplied("contracts", "0013_let_people_mute_mails")
    assert client.get("/readyz").status_code == 503
    assert client.get("/healthz").status_code == 200
    MigrationRecorder(connection).record_applied("contracts", "0013_let_people_mute_mails")
    assert client.get("/readyz").status_code == 200


@pytest.mark.django_db
def test_a_migration_that_stands_for_former_ones_is_there_where_all_of_them_are(client, monkeypatch):
    former = {("contracts", "0001_initial"), ("contracts", "0002_guard_rows_by_contract")}
    monkeypatch.setattr(health, "_known_migrations", lambda: {("contracts", "0001_squashed"): former})
    assert client.get("/readyz").status_code == 200
    monkeypatch.setattr(
        health, "_known_migrations", lambda: {("contracts", "0001_squashed"): {*former, ("contracts", "no")}}
    )
    assert client.get("/readyz").status_code == 503


@pytest.mark.django_db
def test_it_is_not_ready_once_a_stop_was_asked_for(client, monkeypatch):
    monkeypatch.setattr(health, "is_stopping", lambda: True)
    assert client.get("/readyz").status_code == 503
    assert client.get("/livez").status_code == 200


@pytest.mark.django_db
def test_readiness_costs_two_short_queries(client, django_assert_num_queries):
    client.get("/readyz")  # what this program knows is read once
    with django_assert_num_queries(2):  # whether the table is there, and what it says
        assert client.get("/readyz").status_code == 200


@pytest.mark.parametrize("where", [*QUESTIONS, "/metrics"])
@pytest.mark.django_db
def test_machines_ask_without_tls_past_the_proxy(client, settings, where):
    settings.SECURE_SSL_REDIRECT = True
    assert client.get(where).status_code != 301
    assert client.get("/glossary/").status_code == 301
    assert client.get(where + "/more").status_code == 301
