"""What a right is called in the database, where Django never renames one."""

from importlib import import_module

import pytest
from django.apps import apps
from django.contrib.auth.models import Permission
from django.db import connection

from contracts.rules.vocabulary import Right

pytestmark = pytest.mark.django_db
MIGRATION = import_module("contracts.migrations.0014_call_the_right_export")


def names():
    rights = [right.value for right in Right]
    return dict(Permission.objects.filter(codename__in=rights).values_list("codename", "name"))


def test_the_rights_are_called_as_the_vocabulary_calls_them():
    assert names() == {right.value: right.label for right in Right}


def test_a_database_with_the_former_name_gets_the_new_one_and_back():
    held = Permission.objects.filter(codename=Right.EXPORT.value)
    (back,) = [one for one in MIGRATION.Migration.operations if hasattr(one, "reverse_code")]
    with connection.schema_editor() as editor:
        back.reverse_code(apps, editor)
        assert held.get().name == "Carry the contract away"
        back.code(apps, editor)
    assert held.get().name == Right.EXPORT.label
