"""A record's page: what changed between revisions, where it was cited, whether that was followed, who corrects it."""

import pytest

from incidents.models import Evidence, Incident, MemoryRecord
from incidents.services import attempts, incidents, outcomes
from incidents.views.citations import citations
from incidents.views.revisions import difference
from tests import factories
from tests.conftest import World
from tests.incidents.services.test_outcomes import finished_diagnosis
from tests.incidents.views.test_acts import as_person


@pytest.fixture
def record(world: World) -> MemoryRecord:
    incident = factories.make_incident(project=world.project, by=world.responder)
    return factories.resolve(incident=incident, by=world.responder).record


def cited(world: World, record: MemoryRecord, text: str = "again") -> Incident:
    """Return an incident whose answer cites the record."""
    incident = factories.make_incident(project=world.project, by=world.responder, text=f"ERROR {text} happened")
    diagnosis = finished_diagnosis(incident, immediate_actions=[{"text": "Pause it", "refs": ["P1"]}])
    Evidence.objects.create(
        diagnosis=diagnosis, ref="P1", scope="own", record=record, revision=1, match_strength="close", accepted=True
    )
    return incident


def test_difference_marks_the_words_that_changed() -> None:
    lines = difference("Held most connections.\nSame line.", "Held 18 of 20.\nSame line.")

    assert [(line.op, [text for changed, text in line.pieces if changed]) for line in lines] == [
        ("−", ["most", "connections."]),
        ("+", ["18", "of 20."]),
    ]


@pytest.mark.parametrize(
    ("old", "new", "ops"),
    [
        ("a\nb", "a", "−"),
        ("a", "a\nb", "+"),
        ("a", "a", ""),
        ("", "a", ""),
        ("x" * 5000, "y" * 5000, "−+"),
        ("word " * 1000, "other " * 1000, "−+"),
    ],
    ids=["gone", "came", "same", "forgotten", "one-long-word", "many-words"],
)
def test_difference_of_any_two_texts(old: str, new: str, ops: str) -> None:
    assert "".join(line.op for line in difference(old, new)) == ops


def test_a_correction_is_shown_as_a_difference(world: World, record: MemoryRecord) -> None:
    outcome = record.outcome
    assert outcome is not None
    outcomes.correct_outcome(
        outcome=outcome, by=world.responder, root_cause="A deploy held them.", what_was_done="", minutes=18
    )

    page = as_person(world.viewer).get(record.get_absolute_url()).content.decode()

    assert "<ins>deploy</ins>" in page
    assert 'data-op="−"' in page


def follow(world: World, incident: Incident, record: MemoryRecord, what: str) -> None:
    if what == "record":
        outcomes.confirm_fix_worked_again(incident=incident, record=record, by=world.responder)
    elif what == "suggestion":
        diagnosis = incident.investigations.get().diagnoses.get()
        factories.resolve(
            incident=incident,
            by=world.responder,
            followed="suggestion",
            followed_diagnosis=diagnosis,
            followed_action=0,
        )
    elif what == "failed":
        attempts.record_attempt(
            incident=incident, by=world.responder, fix=record.fix, followed="record", followed_record=record
        )
    elif what == "did not hold":
        outcomes.confirm_fix_worked_again(incident=incident, record=record, by=world.responder)
        outcomes.reopen(incident=incident, by=world.responder, held=False)
    elif what == "same fix":
        factories.resolve(incident=incident, by=world.responder)
    elif what == "another":
        factories.resolve(incident=incident, by=world.responder, fix="Restart the pods")
    elif what == "false alarm":
        incidents.close(incident=incident, reason="false_alarm", duplicate_of=None, by=world.responder)
    elif what == "later":
        outcomes.write_down_later(incident=incident, by=world.responder)


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("nothing", "not yet"),
        ("record", "yes, worked"),
        ("suggestion", "yes, worked"),
        ("failed", "yes, failed"),
        ("did not hold", "yes, did not hold"),
        ("same fix", "the same fix, worked"),
        ("another", "no, something else fixed it"),
        ("false alarm", "no, false alarm"),
        ("later", "not written down yet"),
    ],
)
def test_a_citation_says_whether_it_was_followed(world: World, record: MemoryRecord, what: str, said: str) -> None:
    follow(world, cited(world, record), record, what)

    assert [one.followed for one in citations(record, world.viewer)] == [said]


def test_an_incident_investigated_twice_is_one_line(world: World, record: MemoryRecord) -> None:
    first = cited(world, record)
    diagnosis = finished_diagnosis(first)
    Evidence.objects.create(
        diagnosis=diagnosis, ref="P2", scope="own", record=record, revision=1, match_strength="close", accepted=True
    )

    assert [one.evidence.ref for one in citations(record, world.viewer)] == ["P2"]


@pytest.mark.parametrize(("who", "leads"), [("responder", True), ("admin", True), ("viewer", False), ("other", False)])
def test_whoever_may_correct_it_is_led_there(world: World, record: MemoryRecord, who: str, leads: bool) -> None:
    user = factories.make_member(team=world.team) if who == "other" else getattr(world, who)
    incident = record.incident
    assert incident is not None

    page = as_person(user).get(record.get_absolute_url()).content.decode()
    there = as_person(user).get(incident.get_absolute_url()).content.decode()

    assert (f'href="{incident.get_absolute_url()}#fixed"' in page) == leads
    assert ("Save the correction" in there) == leads
