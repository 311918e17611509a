"""What the relevance gate made of a revision's text: derived data, made once and at any time again."""

from django.db import models


class MemoryReading(models.Model):
    """The reading of one revision. Goes with the revision's text: a forgotten record has none."""

    revision = models.OneToOneField("incidents.MemoryRecordRevision", models.CASCADE, related_name="reading")
    # Of what format it is; one of another is made anew.
    format = models.PositiveSmallIntegerField()
    said = models.JSONField()
    vectors = models.BinaryField()

    def __str__(self) -> str:
        return f"reading of {self.revision_id}"
