"""The fix that an outcome or an attempt names: one that the project knows, or a new one."""

from typing import TypedDict

from incidents.memory.records import normal
from incidents.models import Fix
from incidents.reading.redaction import redact
from incidents.reading.text import clean
from teams import audit
from teams.models import Project, User


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
    while fix.merged_into:
        fix = fix.merged_into
    return fix


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
