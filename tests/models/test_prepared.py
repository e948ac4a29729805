import pytest
from django.db import DataError, OperationalError, ProgrammingError, connection, transaction

from contracts.models import prepared
from contracts.models.prepared import run

pytestmark = pytest.mark.django_db(transaction=True)
TEXT = b"SELECT $1::text, $2::integer + 1, NULL WHERE $2::integer > 0"


def test_the_first_row_comes_as_text_and_none_as_none():
    assert run(TEXT, ["夏", "1"]) == ("夏", "2", None)
    assert run(TEXT, [None, "1"]) == (None, "2", None)
    assert run(TEXT, ["x", "0"]) is None


def test_inside_a_transaction_it_is_run_unprepared():
    text = b"SELECT $1::text || 'inside'"
    with transaction.atomic():
        assert run(text, ["x"]) == ("xinside",)
    assert prepared._name(text) not in prepared._known.get(connection.connection, set())


def test_what_the_database_forgot_is_prepared_again():
    run(TEXT, ["x", "1"])
    with connection.cursor() as cursor:
        cursor.execute("DEALLOCATE ALL")
    assert run(TEXT, ["x", "1"]) == ("x", "2", None)


def test_what_is_prepared_already_is_used():
    run(TEXT, ["x", "1"])
    prepared._known.clear()
    assert run(TEXT, ["x", "1"]) == ("x", "2", None)


def test_faults_are_those_that_django_knows():
    with pytest.raises(ProgrammingError):
        run(b"SELECT nothing", [])
    with pytest.raises(DataError):
        run(TEXT, ["x", "one"])


def test_a_lost_connection_is_an_operational_error():
    run(TEXT, ["x", "1"])
    try:
        with pytest.raises(OperationalError):
            run(b"SELECT pg_terminate_backend(pg_backend_pid())::text", [])
        with pytest.raises(OperationalError):
            run(TEXT, ["x", "1"])
    finally:
        connection.close()
