"""Fixes renamed, mended, merged and taken apart."""

import pytest
from django.core.exceptions import PermissionDenied
from django.http import Http404

from incidents.models import Fix
from incidents.models.track import track_records
from incidents.services import attempts, fixes
from incidents.services.incidents import Conflict
from teams.models import AuditEvent
from tests import factories
from tests.conftest import World

KEPT = {"steps": "", "command": "", "runbook_title": "", "runbook_url": ""}


def applied(world: World, title: str, number: int = 1, *, failed: bool = False) -> Fix:
    """Return a fix that an incident of its own was resolved with, or that failed there."""
    text = f"service=worker severity=low\nERROR job {title} number {'abcdefgh'[number] * 4} failed"
    incident = factories.make_incident(project=world.project, by=world.responder, text=text)
    if failed:
        return attempts.record_attempt(incident=incident, by=world.responder, new_fix_title=title).attempt.fix
    return factories.resolve(incident=incident, by=world.responder, fix=title).outcome.fix


def test_describe_renames_and_mends_and_says_in_the_audit_what_changed(world: World) -> None:
    fix = applied(world, "Pause it")

    fixes.describe(
        fix=fix, by=world.responder, **KEPT | {"title": " Pause the  job ", "runbook_url": "https://r.example.com/7"}
    )
    fix.refresh_from_db()

    assert (fix.title, fix.runbook_url) == ("Pause the job", "https://r.example.com/7")
    row = AuditEvent.objects.get(act="fix.change")
    assert row.after == {"changed": ["runbook_url", "title"]}


def test_describe_redacts_credentials_and_refuses_a_link_that_is_none(world: World) -> None:
    fix = applied(world, "Pause it")

    changed = fixes.describe(
        fix=fix,
        by=world.responder,
        **KEPT | {"title": "Pause it", "command": "curl -H 'Authorization: Bearer abc123def456ghi789'"},
    )

    assert "abc123def456ghi789" not in changed.command
    with pytest.raises(ValueError, match="web address"):
        fixes.describe(
            fix=fix, by=world.responder, **KEPT | {"title": "Pause it", "runbook_url": "javascript:alert(1)"}
        )


def test_describe_refuses_the_name_of_another_fix(world: World) -> None:
    fix = applied(world, "Pause it")
    applied(world, "Restart it", 2)

    with pytest.raises(Conflict, match="Merge the two"):
        fixes.describe(fix=fix, by=world.responder, **KEPT | {"title": "restart  IT"})


def test_merge_counts_both_as_one_and_keeps_every_link(world: World) -> None:
    stays, duplicate = applied(world, "Pause it"), applied(world, "Pausing it", 2)
    applied(world, "Pausing it", 3, failed=True)

    assert fixes.merge(fix=duplicate, into=stays, by=world.responder) == stays

    track = track_records([stays.pk])[stays.pk]
    assert (track.worked, track.tried) == (2, 3)
    assert (duplicate.outcomes.count(), duplicate.attempts.count()) == (1, 1)
    assert AuditEvent.objects.get(act="fix.merge").after == {"into": str(stays.public_id)}


def test_merge_leads_a_chain_to_the_one_that_stays(world: World) -> None:
    first, second, third = (applied(world, title, n) for n, title in enumerate(["One", "Two", "Three"]))
    fixes.merge(fix=first, into=second, by=world.responder)
    second.refresh_from_db()

    fixes.merge(fix=second, into=third, by=world.responder)

    assert set(Fix.objects.filter(merged_into=third)) == {first, second}
    assert track_records([third.pk])[third.pk].worked == 3


def test_merge_twice_is_one_act_and_either_way_round_is_a_conflict(world: World) -> None:
    one, other = applied(world, "One"), applied(world, "Other", 2)
    for _ in range(2):
        fixes.merge(fix=one, into=other, by=world.responder)

    assert AuditEvent.objects.filter(act="fix.merge").count() == 1
    with pytest.raises(Conflict, match="meanwhile"):
        fixes.merge(fix=other, into=one, by=world.responder)


def test_merge_refuses_itself_and_another_projects(world: World) -> None:
    fix = applied(world, "Pause it")
    theirs = Fix.objects.create(project=world.other_project, title="Theirs", created_by=world.outsider)

    for into in (fix, theirs):
        with pytest.raises(ValueError, match="own project"):
            fixes.merge(fix=fix, into=into, by=world.responder)


def test_a_merged_fix_is_named_as_the_one_that_stays(world: World) -> None:
    stays, duplicate = applied(world, "Pause it"), applied(world, "Pausing it", 2)
    fixes.merge(fix=duplicate, into=stays, by=world.responder)
    duplicate.refresh_from_db()

    incident = factories.make_incident(project=world.project, by=world.responder)
    attempt = attempts.record_attempt(incident=incident, by=world.responder, fix=duplicate).attempt

    assert attempt.fix == stays


def test_take_apart_undoes_a_merge(world: World) -> None:
    stays, duplicate = applied(world, "Pause it"), applied(world, "Pausing it", 2)
    fixes.merge(fix=duplicate, into=stays, by=world.responder)

    fixes.take_apart(fix=duplicate, by=world.responder)

    tracks = track_records([stays.pk, duplicate.pk])
    assert [tracks[fix.pk].worked for fix in (stays, duplicate)] == [1, 1]


def test_take_apart_refuses_two_fixes_of_one_name(world: World) -> None:
    stays, duplicate = applied(world, "Pause it"), applied(world, "Pausing it", 2)
    fixes.merge(fix=duplicate, into=stays, by=world.responder)
    fixes.describe(fix=stays, by=world.responder, **KEPT | {"title": "Pausing it"})

    with pytest.raises(Conflict, match="that name by now"):
        fixes.take_apart(fix=duplicate, by=world.responder)


def test_only_whoever_works_the_project_changes_its_fixes(world: World) -> None:
    one, other = applied(world, "One"), applied(world, "Other", 2)

    with pytest.raises(PermissionDenied):
        fixes.merge(fix=one, into=other, by=world.viewer)
    with pytest.raises(Http404):
        fixes.describe(fix=one, by=world.outsider, **KEPT | {"title": "Mine"})
