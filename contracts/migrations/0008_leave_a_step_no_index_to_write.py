"""A step changes no indexed column of its contract, and finds room for the new row beside the old one.

Only then can PostgreSQL leave every index of the table alone (a heap-only tuple). The list of contracts finds its
newest by the day of the last revision, which changes once a day.
"""

import zoneinfo

from django.db import migrations, models
from django.db.models.functions import TruncDate

ROOM = "ALTER TABLE contracts_contract SET (fillfactor = 50)"
UNDO = "ALTER TABLE contracts_contract RESET (fillfactor)"


class Migration(migrations.Migration):
    dependencies = [("contracts", "0007_find_work_by_index")]

    operations = [
        migrations.RunSQL(ROOM, UNDO),  # before the table is written anew by the next
        migrations.RemoveIndex(model_name="contract", name="contracts_by_last_revision"),
        migrations.AddField(
            model_name="contract",
            name="revised_on",
            field=models.GeneratedField(
                expression=TruncDate("revised_at", tzinfo=zoneinfo.ZoneInfo("UTC")),
                output_field=models.DateField(),
                db_persist=True,
            ),
        ),
        migrations.AddIndex(
            model_name="contract",
            index=models.Index(fields=["-revised_on"], name="contracts_by_last_revision"),
        ),
    ]
