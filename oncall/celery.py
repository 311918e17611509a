"""The Celery application. Tasks carry ids only; the database row is the queue's truth."""

import os

from celery import Celery

from oncall import transport

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "oncall.settings")
transport.register()

app = Celery("oncall")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
