from django.db import migrations

BEFORE, AFTER = "Carry the contract away", "Export the contract"
RIGHTS = [
    ("view_contract", "See the contract"),
    ("fill_contract", "Fill in the contract"),
    ("decide_contract", "Decide on approvals"),
    ("operate_contract", "Take over, reconcile, raise limits"),
    ("export_contract", AFTER),
    ("share_contract", "Share the contract"),
]


def rename(old, new):
    """Django names a permission when it makes it and never again."""

    def change(apps, schema_editor):
        permissions = apps.get_model("auth", "Permission").objects.using(schema_editor.connection.alias)
        permissions.filter(
            content_type__app_label="contracts", codename="export_contract", name=old
        ).update(name=new)

    return change


class Migration(migrations.Migration):
    dependencies = [
        ("contracts", "0013_let_people_mute_mails"),
        ("auth", "0012_alter_user_first_name_max_length"),
    ]

    operations = [
        migrations.AlterModelOptions(
            name="contract",
            options={"default_permissions": (), "permissions": RIGHTS},
        ),
        migrations.RunPython(rename(BEFORE, AFTER), rename(AFTER, BEFORE)),
    ]
