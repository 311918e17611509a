"""Indexes for the sweep, and on PostgreSQL for the full text search of incidents."""

from django.db import migrations, models
from django.db.models import Q

# The expression that IncidentQuerySet.search compiles to; SQLite looks through the text itself.
CREATE = (
    "CREATE INDEX incident_search ON incidents_incident"
    " USING gin (to_tsvector('simple'::regconfig, COALESCE(search_text, '')))"
)
DROP = "DROP INDEX incident_search"


def _on_postgresql(sql):
    def run(apps, schema_editor):
        if schema_editor.connection.vendor == "postgresql":
            schema_editor.execute(sql)

    return run


class Migration(migrations.Migration):
    dependencies = [("incidents", "0004_deliveries_say_how_they_came")]

    operations = [
        migrations.AddIndex(
            model_name="delivery",
            index=models.Index(condition=Q(state="received"), fields=["received_at"], name="delivery_unread"),
        ),
        migrations.AddIndex(
            model_name="delivery",
            index=models.Index(condition=Q(body_removed_at=None), fields=["received_at"], name="delivery_with_body"),
        ),
        migrations.RunPython(_on_postgresql(CREATE), _on_postgresql(DROP)),
    ]
