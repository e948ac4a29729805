import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

KINDS = [
    ("waiting", "Waits for a decision"),
    ("passed_on", "Passed on to you"),
    ("near_expiry", "Little time is left"),
    ("approved", "Approved"),
    ("sent_back", "Sent back"),
    ("stale", "Stale"),
    ("corrected", "Corrected by a curator"),
    ("expired", "Expired, nobody decided"),
    ("unused", "Approved, but not used"),
    ("lapsed", "Approved, but not used in time"),
    ("handed_over", "Handed over to you"),
]


class Migration(migrations.Migration):
    dependencies = [
        ("contracts", "0012_let_domains_check_hot_columns"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Muted",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("kind", models.CharField(choices=KINDS, max_length=20)),
                (
                    "person",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("person", "kind"), name="one_muting_per_kind"),
                    models.CheckConstraint(
                        condition=models.Q(("kind__in", [kind for kind, _ in KINDS])),
                        name="muted_kind_is_known",
                    ),
                ],
            },
        ),
    ]
