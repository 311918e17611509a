"""What people do at once to one incident: nobody's act ends as a server error.

Only PostgreSQL can let two acts wait for each other: run it there too (``DATABASE_URL``).
"""

import threading
from collections.abc import Callable, Sequence

import pytest
from django.db import connections

from incidents.models import Incident
from incidents.services import attempts, incidents, investigations
from incidents.services.incidents import Conflict
from teams.models import User
from tests import factories

pytestmark = pytest.mark.django_db(transaction=True)


def at_once(acts: Sequence[Callable[[], object]]) -> list[str]:
    """Run the acts in a thread each; return what broke, refusals to a person aside."""
    start = threading.Barrier(len(acts))
    broken: list[str] = []

    def run(act: Callable[[], object]) -> None:
        start.wait()
        try:
            act()
        except Conflict:
            pass
        except Exception as error:
            broken.append(f"{type(error).__name__}: {str(error).splitlines()[0]}")
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run, args=(act,)) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return broken


def acts_on(incident: Incident, by: User) -> list[Callable[[], object]]:
    """Return one of every act that a responder has."""

    def cancel() -> None:
        investigation = incident.investigations.order_by("-number").first()
        if investigation:
            investigations.cancel(investigation=investigation, by=by)

    return [
        lambda: incidents.acknowledge(incident=incident, by=by),
        lambda: incidents.add_note(incident=incident, text="looking at it", by=by),
        lambda: incidents.add_system_text(incident=incident, text="pool: waiting=9", by=by),
        lambda: incidents.assign(incident=incident, assignee=by, by=by, word="mine"),
        lambda: incidents.correct(incident=incident, by=by, severity="low"),
        lambda: incidents.correct(incident=incident, by=by, severity="high"),
        lambda: investigations.start(incident=incident, by=by),
        lambda: attempts.record_attempt(incident=incident, by=by, new_fix_title="restart it"),
        cancel,
    ]


@pytest.mark.parametrize("round_", range(3))
def test_acts_of_several_people_at_once_all_end_well(round_: int) -> None:
    team = factories.make_team()
    people = [factories.make_member(team=team) for _ in range(2)]
    incident = factories.make_incident(project=factories.make_project(team=team), by=people[0])

    broken = at_once([act for person in people for act in acts_on(incident, person)])

    assert broken == []
