"""`manage.py contract_schema`: the JSON Schema of an exported contract."""

from typing import Any

from django.core.management.base import BaseCommand

from contracts.exports.schema import schema_text


class Command(BaseCommand):
    help = "Print the JSON Schema of an exported contract, made from the declarations of its parts."
    requires_system_checks = []

    def handle(self, **_: Any) -> None:
        self.stdout.write(schema_text(), ending="")
