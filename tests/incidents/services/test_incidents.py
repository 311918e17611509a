"""What people do with an incident: once, by whoever was first, audited, and never undone by an alert."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from incidents.models import Incident, IncidentEvent
from incidents.services import deliveries, incidents
from incidents.services.incidents import Conflict
from teams import services
from teams.models import AuditEvent, User
from tests import factories
from tests.conftest import World


@pytest.fixture
def incident(world: World) -> Incident:
    return factories.make_incident(project=world.project, by=world.responder)


def lines(incident: Incident) -> list[tuple[str, User | None]]:
    return [(event.kind, event.by) for event in incident.events.all()]


def audited() -> list[str]:
    return list(AuditEvent.objects.filter(act__startswith="incident.").order_by("pk").values_list("act", flat=True))


# --- Acknowledge and assign -------------------------------------------------------------------------------------------


def test_acknowledge_says_who_and_takes_what_nobody_has(world: World, incident: Incident) -> None:
    version = Incident.objects.get().version

    incidents.acknowledge(incident=incident, by=world.admin)
    incidents.acknowledge(incident=incident, by=world.admin)

    now = Incident.objects.get()
    assert (now.status, now.acknowledged_by, now.assignee) == ("acknowledged", world.admin, world.admin)
    assert lines(now) == [("opened", world.responder), ("acknowledged", world.admin)]
    assert audited() == ["incident.acknowledge"]
    assert now.version > version


def test_acknowledge_leaves_it_with_whom_it_is(world: World, incident: Incident) -> None:
    incidents.assign(incident=incident, assignee=world.responder, by=world.responder)

    incidents.acknowledge(incident=incident, by=world.admin)

    assert Incident.objects.get().assignee == world.responder


def test_acknowledge_in_a_second_tab_says_who_was_first(world: World, incident: Incident) -> None:
    incidents.acknowledge(incident=incident, by=world.admin)

    with pytest.raises(Conflict, match=r"Ada Admin acknowledged this at \d\d:\d\d\."):
        incidents.acknowledge(incident=incident, by=world.responder)

    assert Incident.objects.get().acknowledged_by == world.admin


def test_assign_hands_over_with_a_word(world: World, incident: Incident) -> None:
    incidents.assign(incident=incident, assignee=world.admin, by=world.responder, word="The pool is yours")
    incidents.assign(incident=incident, assignee=world.admin, by=world.responder)  # changes nothing
    incidents.assign(incident=incident, assignee=None, by=world.admin)

    now = Incident.objects.get()
    assert now.assignee is None
    assert now.notes.get().text == "The pool is yours"
    assert [kind for kind, _ in lines(now)] == ["opened", "assigned", "noted", "assigned"]
    assert [event.detail["to"] for event in now.events.filter(kind="assigned")] == ["Ada Admin", "nobody"]


def test_assign_audits_what_stood_not_what_a_page_showed(world: World, incident: Incident) -> None:
    stale = Incident.objects.get()
    incidents.assign(incident=incident, assignee=world.admin, by=world.responder)

    incidents.assign(incident=stale, assignee=world.responder, by=world.responder)

    assert AuditEvent.objects.latest("pk").before == {"assignee": str(world.admin.public_id)}


@pytest.mark.parametrize("who", ["viewer", "outsider", "platform_admin", "left", "disabled"])
def test_assign_refuses_whoever_may_not_work_it(world: World, incident: Incident, who: str) -> None:
    person = getattr(world, who, None) or factories.make_member(team=world.team)
    if who == "left":
        services.remove_member(team=world.team, user=person, by=world.admin)
    if who == "disabled":
        User.objects.filter(pk=person.pk).update(is_active=False)
        person.refresh_from_db()

    with pytest.raises(Conflict, match="may not work"):
        incidents.assign(incident=incident, assignee=person, by=world.responder)

    assert Incident.objects.get().assignee is None


# --- Notes and more from the system -----------------------------------------------------------------------------------


def test_a_note_is_kept_redacted_and_is_no_alert_text(world: World, incident: Incident) -> None:
    note = incidents.add_note(incident=incident, text="Rebooted\x00 it, password=hunter2", by=world.admin)

    assert note.text == "Rebooted it, password=[redacted: password]"
    assert incident.events.get(kind="noted").note == note
    assert "Rebooted" not in incidents.alert_text(incident)
    assert list(Incident.objects.search("rebooted")) == [incident]
    assert "Rebooted" not in str(list(AuditEvent.objects.values()))


def test_more_from_the_system_counts_as_alert_text(world: World, incident: Incident) -> None:
    added = incidents.add_system_text(
        incident=incident, text="FATAL: too many connections for role app token=abc123", by=world.admin
    )

    assert "abc123" not in added.text
    assert incident.events.get(kind="system_text").system_text == added
    assert "too many connections" in incidents.alert_text(incident)
    assert "too many connections" in incidents.facts(incident).symptoms


def test_endless_text_is_cut_and_says_so(world: World, incident: Incident) -> None:
    note = incidents.add_note(incident=incident, text="x" * 50_000, by=world.admin)
    added = incidents.add_system_text(incident=incident, text="x" * 50_000, by=world.admin)

    assert len(note.text) <= 10_000
    assert len(added.text) <= 20_000
    assert "[cut: 20,000 of 50,000 characters]" in added.text


# --- Correct ----------------------------------------------------------------------------------------------------------


def test_correct_carries_the_persons_name_and_wins_over_what_was_read(world: World, incident: Incident) -> None:
    service = services.create_service(project=world.project, name="orders", by=world.admin)

    incidents.correct(incident=incident, by=world.admin, severity="low", service=service, environment=" qa\x00 ")

    now = Incident.objects.get()
    assert (now.severity_by, now.service_by, now.environment_by) == (world.admin,) * 3
    facts = incidents.facts(now)
    assert (facts.severity, facts.service, facts.environment) == ("low", "orders", "qa")
    event = AuditEvent.objects.get(act="incident.correct")
    assert event.after == {"severity": "low", "service": str(service.public_id), "environment": "set"}
    assert now.events.get(kind="corrected").detail == {"severity": "low", "service": "orders", "environment": "qa"}


def test_correct_of_nothing_writes_nothing(world: World, incident: Incident) -> None:
    incidents.correct(incident=incident, by=world.admin, severity=incident.severity)

    assert Incident.objects.get().severity_by is None
    assert audited() == []


def test_correct_refuses_what_is_not_its_own(world: World, incident: Incident) -> None:
    foreign = services.create_service(project=world.other_project, name="pay-api", by=world.outsider)

    for changes in ({"service": foreign}, {"severity": "worst"}, {"number": 99}):
        with pytest.raises(ValueError, match=r"project|severity|corrected"):
            incidents.correct(incident=incident, by=world.admin, **changes)

    assert (Incident.objects.get().service, Incident.objects.get().number) == (None, 1)


# --- Close ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reason", ["recovered", "false_alarm", "not_actionable"])
def test_close_without_a_fix(world: World, incident: Incident, reason: str) -> None:
    incidents.close(incident=incident, reason=reason, duplicate_of=None, by=world.admin)

    now = Incident.objects.get()
    assert (now.status, now.close_reason, now.resolved_by) == ("resolved", reason, world.admin)
    assert now.events.latest("pk").kind == IncidentEvent.Kind.RESOLVED
    assert not now.memory_records.exists()
    assert AuditEvent.objects.latest("pk").after == {"reason": reason, "duplicate_of": None}


def test_close_as_a_duplicate_names_another_incident_of_the_project(world: World, incident: Incident) -> None:
    other = factories.make_incident(project=world.project, by=world.responder, text="Disk full on db")
    foreign = factories.make_incident(project=world.other_project, by=world.outsider)

    for wrong in (None, foreign):
        with pytest.raises(ValueError, match=r"[Dd]uplicate"):
            incidents.close(incident=incident, reason="duplicate", duplicate_of=wrong, by=world.admin)
    with pytest.raises(ValueError, match=r"[Dd]uplicate"):
        incidents.close(incident=incident, reason="recovered", duplicate_of=other, by=world.admin)
    incidents.close(incident=incident, reason="duplicate", duplicate_of=other, by=world.admin)

    incident.refresh_from_db()
    assert incident.duplicate_of == other
    with pytest.raises(Conflict, match="itself"):
        incidents.close(incident=other, reason="duplicate", duplicate_of=incident, by=world.admin)


@pytest.mark.parametrize("reason", ["fixed", "", "gone"])
def test_close_refuses_other_reasons(world: World, incident: Incident, reason: str) -> None:
    with pytest.raises(ValueError, match="No reason"):
        incidents.close(incident=incident, reason=reason, duplicate_of=None, by=world.admin)


ACTS: dict[str, Callable[[Incident, User], Any]] = {
    "acknowledge": lambda incident, by: incidents.acknowledge(incident=incident, by=by),
    "assign": lambda incident, by: incidents.assign(incident=incident, assignee=by, by=by),
    "close": lambda incident, by: incidents.close(incident=incident, reason="recovered", duplicate_of=None, by=by),
}


@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS.keys())
def test_an_act_on_what_is_resolved_says_who_resolved_it(
    world: World, incident: Incident, act: Callable[[Incident, User], Any]
) -> None:
    incidents.close(incident=incident, reason="false_alarm", duplicate_of=None, by=world.admin)
    before = (audited(), lines(incident))

    with pytest.raises(Conflict, match=r"Ada Admin resolved this at \d\d:\d\d\."):
        act(incident, world.responder)

    assert (audited(), lines(incident)) == before
    assert Incident.objects.get().close_reason == "false_alarm"


# --- What it says -----------------------------------------------------------------------------------------------------


def test_alert_text_has_the_first_alert_and_the_latest_that_say_something_else(world: World) -> None:
    def send(text: str, status: str = "firing") -> None:
        body = f'{{"title": "{text}", "dedup_key": "k", "status": "{status}"}}'
        deliveries.receive(project=world.project, body=body.encode(), content_type="", source="api")

    for text in ("first 1", "old", "first 2", "newer", "newest 9", "newest 8"):
        send(text)
    send("over", status="resolved")
    for number in range(3):
        incidents.add_system_text(incident=Incident.objects.get(), text=f"deploy {number}", by=world.admin)

    said = incidents.alert_text(Incident.objects.get()).split("\n\n")

    assert [part.split("\n")[0] for part in said[:3]] == ["first 1", "newer", "newest 8"]
    assert said[3:] == [f"More from the system:\ndeploy {number}" for number in range(3)]


# --- Search -----------------------------------------------------------------------------------------------------------


def test_search_finds_every_word_of_title_alert_note_and_fix(world: World, incident: Incident) -> None:
    factories.make_incident(project=world.project, by=world.responder, text="Disk full on db")
    incidents.add_note(incident=incident, text="Asked Jonas about it", by=world.admin)
    factories.resolve(incident=incident, by=world.responder, root_cause="A leaking cursor", fix="Recycle the workers")

    for query in ("obtaining pool", "POOL jonas", "leaking", "recycle workers", "search-api"):
        assert list(Incident.objects.search(query)) == [incident], query
    assert list(Incident.objects.search("pool disk")) == []


@pytest.mark.parametrize("query", ["\x00", "'", "\\", "%", "_", "a & | !", "(" * 500, "' OR 1=1 --", "x" * 5000])
def test_search_takes_any_query(world: World, incident: Incident, query: str) -> None:
    list(Incident.objects.search(query))


def test_the_text_to_search_has_an_end(world: World, incident: Incident) -> None:
    Incident.objects.update(search_text="x" * 199_999)

    incidents.add_note(incident=incident, text="y" * 9000, by=world.admin)

    assert len(Incident.objects.get().search_text) == 200_000


def test_search_uses_its_index_on_postgresql(world: World, incident: Incident) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("Only PostgreSQL has the index.")
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")

    assert "incident_search" in Incident.objects.search("pool").explain()
