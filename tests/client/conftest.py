import pytest

from tests.serving import served


@pytest.fixture(scope="module")
def url(tmp_path_factory, django_db_setup, django_db_blocker):
    """The address of a workbench as it is really served."""
    with django_db_blocker.unblock(), served(tmp_path_factory.mktemp("served"), workers=1) as url:
        yield url
