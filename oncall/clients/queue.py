"""Publish a task by name, after the commit. The database row is the queue's truth: a lost message is swept up."""

import logging
from functools import partial

from django.db import transaction

from oncall.celery import app

logger = logging.getLogger(__name__)


def publish(name: str, **ids: int | str) -> None:
    """Send the named task with these ids once the transaction has committed.

    A broker that is down is logged and swallowed: what was accepted stands in its row, and the sweep sends it again.

    Raises:
        KeyError: no task of that name is registered.
    """
    app.loader.import_default_modules()  # the registry is empty in a web process until this was called
    task = app.tasks[name]
    transaction.on_commit(partial(_send, task.name, ids), robust=True)


def _send(name: str, ids: dict[str, int | str]) -> None:
    try:
        app.tasks[name].apply_async(kwargs=ids, retry=False)
    except Exception as error:  # any broker's any error; the sweep makes it good
        logger.warning("Task %s could not be published (%s); the sweep will send it.", name, type(error).__name__)
