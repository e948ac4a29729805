from django.db import migrations


class Migration(migrations.Migration):
    initial = True
    operations = (
        migrations.RunSQL(
            "ALTER TABLE contracts_contract ADD COLUMN moved integer",
            "ALTER TABLE contracts_contract DROP COLUMN moved",
        ),
    )
