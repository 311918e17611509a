"""The fix that an outcome or an attempt names: one that the project knows, or a new one. Rename, mend, merge.

A duplicate that is merged keeps its own outcomes, attempts and records. They count as the fix that stays, and part
again when the two are taken apart.
"""

from typing import TypedDict, Unpack

from django.db import transaction

from incidents.memory.records import normal
from incidents.models import Fix
from incidents.reading.redaction import redact
from incidents.reading.text import clean, cut
from incidents.services.incidents import Conflict
from teams import access, audit
from teams.models import Project, User
from teams.permissions import Permission

MAX_STEPS, MAX_COMMAND = 4000, 2000


class NamedFix(TypedDict, total=False):
    """How a person names it. Runbook and command, where given, become the fix's."""

    fix: Fix | None
    new_fix_title: str
    runbook_title: str
    runbook_url: str
    command: str


def is_same(fix: Fix, named: NamedFix) -> bool:
    """Return whether what was named is this fix."""
    known = named.get("fix")
    if known:
        return standing(known) == standing(fix)
    return normal(_title(named)) == normal(fix.title)


def choose(*, project: Project, named: NamedFix, by: User) -> Fix:
    """Return the fix, made if need be: a new title that the project has already names that one.

    Call it inside the act's transaction.

    Raises:
        ValueError: nothing is named, or a fix of another project.
    """
    known = named.get("fix")
    title = _title(named)
    if known is not None and known.project_id != project.pk:
        raise ValueError("A fix belongs to one project.")
    if known is None and not title:
        raise ValueError("An outcome or attempt names a fix.")
    fix = standing(known) if known else _titled(project, title)
    if fix is None:
        fix = Fix.objects.create(project=project, title=title, created_by=by, **_given(named))
        audit.record("fix.create", by=by, on=fix, team=project.team)
        return fix
    changed = changes(fix, named)
    if changed:
        for name, value in changed.items():
            setattr(fix, name, value)
        fix.save(update_fields=list(changed))
        audit.record("fix.change", by=by, on=fix, team=project.team, after={"changed": sorted(changed)})
    return fix


def changes(fix: Fix, named: NamedFix) -> dict[str, str]:
    """Return what was given of runbook and command and differs from the fix's."""
    return {name: value for name, value in _given(named).items() if value != getattr(fix, name)}


def standing(fix: Fix) -> Fix:
    """Return the fix that is left after merging."""
    return fix.merged_into or fix


class Described(TypedDict):
    """All that a fix's page lets a person write."""

    title: str
    steps: str
    command: str
    runbook_title: str
    runbook_url: str


@transaction.atomic
def describe(*, fix: Fix, by: User, **described: Unpack[Described]) -> Fix:
    """Rename a fix, and mend its steps, command and runbook. What memory holds keeps the words of its act.

    Raises:
        Conflict: it was merged meanwhile, or another fix of the project has that name.
        ValueError: it would have no name, or a runbook link that is none.
    """
    fix = _held(fix, by)
    if fix.merged_into:
        raise Conflict(f"It was merged into “{fix.merged_into.title}”. Change that one.")
    wanted = {
        "title": " ".join(_written(described["title"]).split())[:160],
        "steps": cut(_written(described["steps"]), MAX_STEPS),
        "command": _written(described["command"])[:MAX_COMMAND],
        "runbook_title": _written(described["runbook_title"])[:120],
        "runbook_url": _written(described["runbook_url"])[:500],
    }
    if not wanted["title"]:
        raise ValueError("A fix needs a name.")
    if wanted["runbook_url"] and not wanted["runbook_url"].startswith(("http://", "https://")):
        raise ValueError("A runbook link is a web address.")
    namesake = _titled(fix.project, wanted["title"])
    if namesake and namesake != fix:
        raise Conflict("Another fix of this project has that name. Merge the two instead.")
    changed = sorted(name for name, value in wanted.items() if value != getattr(fix, name))
    if changed:
        Fix.objects.filter(pk=fix.pk).update(**wanted)
        audit.record("fix.change", by=by, on=fix, team=fix.project.team, after={"changed": changed})
        fix.refresh_from_db()
    return fix


@transaction.atomic
def merge(*, fix: Fix, into: Fix, by: User) -> Fix:
    """Make a fix a duplicate of another, which is returned. Its links stay its own and count as the other's.

    Raises:
        Conflict: one of the two was merged meanwhile.
        ValueError: they are one fix, or of two projects.
    """
    if fix.pk == into.pk or fix.project_id != into.project_id:
        raise ValueError("A fix is merged into another fix of its own project.")
    # Both rows in the order of their ids, so that two people who merge the two either way do not wait for each other.
    held = {one.pk: one for one in (_held(each, by) for each in sorted((fix, into), key=lambda each: each.pk))}
    fix, into = held[fix.pk], held[into.pk]
    if fix.merged_into_id == into.pk:
        return into
    for each in (fix, into):
        if each.merged_into:
            raise Conflict(f"“{each.title}” was merged into “{each.merged_into.title}” meanwhile.")
    # One level deep: what was merged into this one goes along.
    fix.merged.update(merged_into=into)
    Fix.objects.filter(pk=fix.pk).update(merged_into=into)
    audit.record("fix.merge", by=by, on=fix, team=fix.project.team, after={"into": str(into.public_id)})
    return into


@transaction.atomic
def take_apart(*, fix: Fix, by: User) -> Fix:
    """Undo a merge: the fix stands for itself again, with its own outcomes and attempts.

    Raises:
        Conflict: another fix of the project bears its name by now.
    """
    fix = _held(fix, by)
    if fix.merged_into is None:
        return fix
    if _titled(fix.project, fix.title):
        raise Conflict("Another fix of this project has that name by now. Rename that one first.")
    Fix.objects.filter(pk=fix.pk).update(merged_into=None)
    before = {"into": str(fix.merged_into.public_id)}
    audit.record("fix.take_apart", by=by, on=fix, team=fix.project.team, before=before)
    fix.refresh_from_db()
    return fix


def _held(fix: Fix, by: User) -> Fix:
    """Return the fix as it is now, its row held, once the person may work its project."""
    rows = Fix.objects.select_for_update(of=("self",), no_key=True).select_related("project__team", "merged_into")
    held = rows.get(pk=fix.pk)
    access.require(by, Permission.INCIDENT_WORK, held)
    return held


def _title(named: NamedFix) -> str:
    return " ".join(_written(named.get("new_fix_title", "")).split())[:160]


def _titled(project: Project, title: str) -> Fix | None:
    same = (fix for fix in project.fixes.filter(merged_into=None) if normal(fix.title) == normal(title))
    return next(same, None)


def _given(named: NamedFix) -> dict[str, str]:
    """Return runbook and command as far as they were given; a new runbook replaces title and link together."""
    given: dict[str, str] = {}
    command = _written(named.get("command", ""))
    title, url = _written(named.get("runbook_title", "")), _written(named.get("runbook_url", ""))
    if command:
        given["command"] = command
    if title or url:
        given["runbook_title"], given["runbook_url"] = title[:120], url[:500]
    return given


def _written(text: str) -> str:
    return redact(clean(text)).strip()
