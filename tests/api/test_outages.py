import pytest
from django.db import DataError, InterfaceError, OperationalError
from django.test import RequestFactory
from psycopg import errors
from psycopg_pool import PoolTimeout

from contracts.api.outages import SENTENCES, outage_of, unavailable
from workbench.failing import failed


def caused(kind, cause):
    """Return an exception of Django's as it comes from the database's own."""
    error = kind("said by the database")
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (caused(OperationalError, PoolTimeout()), "database_busy"),
        (caused(OperationalError, errors.TooManyConnections()), "database_busy"),
        (caused(OperationalError, errors.DiskFull()), "database_full"),
        (caused(OperationalError, errors.AdminShutdown()), "database_away"),
        (caused(InterfaceError, None), "database_away"),
        (caused(DataError, errors.DiskFull()), ""),
        (ValueError(), ""),
        (None, ""),
    ],
)
def test_an_outage_is_told_from_a_fault_of_the_program(error, code):
    assert outage_of(error) == code


@pytest.mark.parametrize("code", SENTENCES)
def test_a_worker_is_told_which_outage_it_is_and_when_to_come_again(code):
    answer = unavailable(code)
    assert (answer.status_code, answer["Content-Type"]) == (503, "application/problem+json")
    assert int(answer["Retry-After"]) > 0
    assert f'"code":"{code}"' in answer.content.decode()


@pytest.mark.parametrize(
    ("path", "kind"), [("/", "text/html"), ("/api/v1/contracts", "application/problem+json")]
)
@pytest.mark.parametrize(
    ("error", "status", "word"),
    [
        (caused(OperationalError, PoolTimeout()), 503, "database_busy"),
        (ValueError("a password"), 500, "500"),
    ],
)
def test_people_get_a_page_and_workers_a_document_and_neither_what_the_error_says(
    path, kind, error, status, word
):
    try:
        raise error
    except type(error):
        answer = failed(RequestFactory().get(path))
    assert (answer.status_code, answer["Content-Type"].partition(";")[0]) == (status, kind)
    assert word in answer.content.decode()
    assert str(error) not in answer.content.decode()
