"""What the embedded memory keeps. Only ``memory.py`` beside this file reads or writes it."""

from django.db import models


class EmbeddedBank(models.Model):
    """A bank. Every write counts its ``generation``, so that readers in other processes see what is newer."""

    bank_id = models.CharField(max_length=64, unique=True)
    generation = models.PositiveBigIntegerField(default=0)

    def __str__(self) -> str:
        return self.bank_id


class EmbeddedDocument(models.Model):
    """A document with its vectors. One that was forgotten stays as a blank tombstone, which readers must see too."""

    bank = models.ForeignKey(EmbeddedBank, models.CASCADE, related_name="documents")
    document_id = models.CharField(max_length=64)
    generation = models.PositiveBigIntegerField()
    forgotten = models.BooleanField(default=False)
    text = models.TextField(blank=True)
    tags = models.JSONField(default=list)
    metadata = models.JSONField(default=dict)
    occurred_at = models.DateTimeField(null=True, blank=True)
    # Two vectors of 256 float16 each: the whole text, and its head.
    vectors = models.BinaryField(default=bytes)
    # One vector of 384 float16, by the model that reads in context; none for what was stored before there was one.
    meaning = models.BinaryField(default=bytes)

    class Meta:
        """One row for each document; newer rows are found by generation."""

        constraints = [models.UniqueConstraint(fields=["bank", "document_id"], name="embedded_document_once")]
        indexes = [models.Index(fields=["bank", "generation"], name="embedded_newer")]

    def __str__(self) -> str:
        return self.document_id
