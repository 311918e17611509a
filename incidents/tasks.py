"""What a worker does: each task loads by id and makes one call. The rows are the queue's truth."""

import logging

from celery import shared_task

from incidents.services import deliveries, diagnosing, memory

logger = logging.getLogger(__name__)


@shared_task(name="incidents.read_delivery")
def read_delivery(*, delivery_id: int) -> None:
    """Read the alerts out of a delivery that was accepted but not read."""
    deliveries.read(delivery_id)


@shared_task(name="incidents.run_diagnosis")
def run_diagnosis(*, diagnosis_id: int) -> None:
    """Work on one diagnosis until it ends or waits for a person."""
    diagnosing.run_diagnosis(diagnosis_id)


@shared_task(name="incidents.sync_record")
def sync_record(*, record_id: int) -> None:
    """Bring a bank to what the record wants."""
    memory.sync_record(record_id)


@shared_task(name="incidents.sweep")
def sweep() -> None:
    """Drive on whatever a killed worker or a lost message left behind. Two sweeps at once are harmless."""
    for part in (deliveries.sweep, diagnosing.sweep, memory.sweep):
        try:
            part()
        except Exception:
            # One that breaks must not keep the others from what waits for them.
            logger.exception("The sweep of %s broke down.", part.__module__)
