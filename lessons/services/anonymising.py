"""What the platform knows by name, for the anonymiser."""

from collections import defaultdict
from uuid import UUID

from lessons.anonymise.names import Names
from teams.models import KnownName, User

_FIELDS = {
    KnownName.Kind.TEAM: "teams",
    KnownName.Kind.PROJECT: "projects",
    KnownName.Kind.PROJECT_KEY: "project_keys",
    KnownName.Kind.SERVICE: "services",
}


def known_names() -> Names:
    """Return every name that a team, project, service or person has or had, of all teams. Two queries."""
    fields: dict[str, set[str]] = defaultdict(set)
    people: dict[UUID, tuple[set[str], set[str]]] = defaultdict(lambda: (set(), set()))
    for kind, name, object_id in KnownName.objects.values_list("kind", "name", "object_id"):
        if kind in _FIELDS:
            fields[_FIELDS[KnownName.Kind(kind)]].add(name)
        else:
            people[object_id][kind == KnownName.Kind.EMAIL].add(name)
    for object_id, name, email in User.objects.values_list("public_id", "name", "email"):
        people[object_id][0].add(name)
        people[object_id][1].add(email)
    members = {(name, email) for names, emails in people.values() for name in names or {""} for email in emails or {""}}
    return Names(members=tuple(sorted(members)), **{field: tuple(sorted(names)) for field, names in fields.items()})
