"""Who gets which answer: every address, every method, every kind of caller.

A row of ``ROWS`` is one address and method. A new address needs a row (usually one line), or the suite fails. The
objects that an address names are made once, in ``stage``, and found by the names of the address's parts.
"""

import re
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.db import transaction
from django.http import HttpResponse
from django.test import Client, override_settings
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from django.utils import timezone

from incidents.models import Delivery, Incident, Investigation, Question, Step
from incidents.services import attempts, investigations
from teams import services
from teams.models import ApiKey, Membership, User
from teams.permissions import ROLE_PERMISSIONS, SCOPE_PERMISSIONS, Permission
from tests import factories

pytestmark = pytest.mark.django_db

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
VIEW, WORK = Permission.INCIDENT_VIEW, Permission.INCIDENT_WORK
MEMORY, MANAGE_MEMORY = Permission.MEMORY_VIEW, Permission.MEMORY_MANAGE
TEAM, MANAGE_TEAM, MANAGE_PROJECT = Permission.TEAM_VIEW, Permission.TEAM_MANAGE, Permission.PROJECT_MANAGE

LOGIN = "to the sign-in page"
# A form that somebody signed out sent comes back to them with what they wrote.
GIVEN_BACK = 403
SCOPES = tuple(ApiKey.Scope.values)
KEYS = tuple(f"key with {scope}" for scope in SCOPES)
MEMBERS = tuple(Membership.Role.values)
STRANGERS = ("stranger", "outsider", "removed", "reviewer", "platform admin")
NOBODY = ("anonymous", "revoked key", "expired key")
KINDS = (*NOBODY, *STRANGERS, *MEMBERS, *KEYS, "key of another project")


# --- The stage --------------------------------------------------------------------------------------------------------


# What an address begins with: a team, a project, an incident.
TOP = {"slug", "key", "number"}


def parts_of(name: str) -> set[str]:
    """Return what the address names: the parts of its route."""
    return {part for _, parts in get_resolver().reverse_dict.getlist(name)[0][0] for part in parts}


def address(name: str, parts: Mapping[str, Any]) -> str:
    """Return the address with the parts that it names."""
    return reverse(name, kwargs={part: parts[part] for part in parts_of(name)})


@dataclass
class Stage:
    """People by kind, keys by kind, and the objects by the names of an address's parts."""

    people: dict[str, User]
    keys: dict[str, str]
    parts: dict[str, Any]
    # The same top-level objects of the other team: a forged address joins them with nested ones of ours.
    other_parts: dict[str, Any]
    # One for each kind: a client's first request loads every middleware, which takes longer than most answers.
    clients: dict[str, Client] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for kind in KINDS:
            headers = {"Authorization": f"Bearer {self.keys[kind]}"} if kind in self.keys else None
            self.clients[kind] = Client(headers=headers)
            if kind in self.people:
                self.clients[kind].force_login(self.people[kind])

    def send(
        self, kind: str, method: str, path: str, data: str = "", content_type: str = "application/json"
    ) -> HttpResponse:
        """Return the answer to a caller of this kind; whatever it changed is undone."""
        client = self.clients[kind]
        cookies = client.cookies.output()
        with transaction.atomic():
            response: Any = client.generic(method, path, data=data, content_type=content_type)
            transaction.set_rollback(True)
        client.cookies = SimpleCookie(cookies.replace("Set-Cookie:", "")) if kind in self.people else SimpleCookie()
        return response  # type: ignore[no-any-return]

    def call(self, kind: str, row: "Row", parts: Mapping[str, Any] | None = None) -> HttpResponse:
        """Return the answer to a row's request."""
        return self.send(kind, row.method, address(row.name, parts or self.parts), row.body(self), row.content_type)


@pytest.fixture(scope="module")
def stage(django_db_setup: None, django_db_blocker: Any) -> Iterator[Stage]:
    """Made once for all rows, and undone at the end; each call undoes its own changes."""
    with django_db_blocker.unblock(), transaction.atomic():
        with override_settings(PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"]):
            made = _stage()
        yield made
        transaction.set_rollback(True)


def _stage() -> Stage:
    team, other_team = factories.make_team(name="Discovery"), factories.make_team(name="Payments")
    project = factories.make_project(team=team, key="SEARCH", name="Search")
    other = factories.make_project(team=other_team, key="PAY", name="Payments")
    people = {role: factories.make_member(team=team, role=role, name=f"The {role}") for role in MEMBERS}
    people |= {
        "stranger": factories.make_user(name="Stranger"),
        "outsider": factories.make_member(team=other_team, role="admin", name="Outsider"),
        "reviewer": factories.make_user(name="Reviewer", is_lesson_reviewer=True),
        "platform admin": factories.make_user(name="Platform admin", is_platform_admin=True),
        "removed": factories.make_member(team=team, role="admin", name="Removed"),
    }
    admin, responder = people["admin"], people["responder"]
    services.remove_member(team=team, user=people["removed"], by=admin)
    keys = {f"key with {scope}": factories.make_key(project=project, by=admin, scopes=[scope]) for scope in SCOPES}
    keys["key of another project"] = factories.make_key(project=other, by=people["outsider"], scopes=SCOPES)
    dead, keys["revoked key"] = services.make_api_key(project=project, name="dead", scopes=SCOPES, by=admin)
    services.revoke_api_key(key=dead, by=admin)
    _, keys["expired key"] = services.make_api_key(
        project=project, name="old", scopes=SCOPES, by=admin, expires_at=timezone.now()
    )
    key, _ = services.make_api_key(project=project, name="live", scopes=SCOPES, by=admin)
    incident = factories.make_incident(project=project, by=responder)
    other_incident = factories.make_incident(project=other, by=people["outsider"])
    record = _resolved(project=project, by=responder).memory_records.get()
    investigation, step = _waiting(incident, responder)
    attempt = attempts.record_attempt(incident=incident, by=admin, new_fix_title="Fail over").attempt
    invitation, secret = services.invite(team=team, email="new@example.org", role="viewer", by=admin)
    service = services.create_service(project=project, name="search-api", by=admin)
    delivery = Delivery.objects.get(incident=incident)
    parts = {
        "slug": team.slug,
        "key": project.key,
        "number": incident.number,
        "person": people["viewer"].public_id,
        "invitation": invitation.public_id,
        "secret": secret,
        "service": service.public_id,
        "key_id": key.key_id,
        "delivery": delivery.public_id,
        "investigation": investigation.public_id,
        "step": step.public_id,
        "attempt": attempt.public_id,
        "record": record.public_id,
        "fix": record.fix.public_id,
        "other_fix": attempt.fix.public_id,
    }
    other_parts = {"slug": other_team.slug, "key": other.key, "number": other_incident.number}
    return Stage(people, keys, parts, other_parts)


def _resolved(*, project: Any, by: User) -> Incident:
    incident = factories.make_incident(project=project, by=by, text="disk 91% full on db-3", title="Disk full")
    factories.resolve(incident=incident, by=by)
    return incident


def _waiting(incident: Incident, by: User) -> tuple[Investigation, Step]:
    """Return an investigation that waits for an answer, with one step whose messages can be shown."""
    investigation = investigations.start(incident=incident, by=by)
    diagnosis = investigation.diagnoses.get(kind="with_memory")
    step = Step.objects.create(
        diagnosis=diagnosis,
        sequence=1,
        kind=Step.Kind.MODEL,
        name="model",
        status=Step.Status.SUCCESS,
        sent_hash="0" * 64,
        started_at=timezone.now(),
    )
    Question.objects.create(
        investigation=investigation,
        sequence=1,
        asked_by=Question.AskedBy.MODEL,
        text="Which service?",
        asked_at=timezone.now(),
    )
    diagnosis.state = diagnosis.State.WAITING
    diagnosis.save()
    investigation.state = Investigation.State.WAITING
    investigation.save()
    return investigation, step


# --- Rows -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """An address by name, a method, what is sent, and the answer to each kind of caller."""

    name: str
    method: str
    expected: dict[str, int | str]
    data: dict[str, Any] | Callable[[Stage], dict[str, Any]] = field(default_factory=dict)
    content_type: str = "application/x-www-form-urlencoded"

    def body(self, stage: Stage) -> str:
        """Return what is sent, as the content type wants it."""
        data = self.data(stage) if callable(self.data) else self.data
        if self.content_type == "application/x-www-form-urlencoded":
            return "&".join(f"{name}={value}" for name, value in data.items())
        return "{}" if not data else str(data).replace("'", '"')

    def __str__(self) -> str:
        return f"{self.method} {self.name}"


def page(name: str, method: str, needs: Permission, allowed: int, **data: Any) -> Row:
    """A page of a team or project. A key opens no page: it counts as nobody."""
    signed_out = GIVEN_BACK if method == "POST" and data else LOGIN
    expected: dict[str, int | str] = dict.fromkeys((*NOBODY, *KEYS, "key of another project"), signed_out)
    expected |= dict.fromkeys(STRANGERS, 404)
    expected |= {role: allowed if needs in ROLE_PERMISSIONS[role] else 403 for role in MEMBERS}
    return Row(name, method, expected, data.pop("data", data))


def own_page(name: str, method: str, allowed: int, data: Any = None, **some: int) -> Row:
    """A page that everybody has who is signed in; ``some`` names roles that get another answer."""
    expected: dict[str, int | str] = dict.fromkeys(KINDS, GIVEN_BACK if method == "POST" and data else LOGIN)
    expected |= dict.fromkeys((*STRANGERS, *MEMBERS), allowed) | {kind.replace("_", " "): s for kind, s in some.items()}
    return Row(name, method, expected, data or {})


def open_page(name: str, method: str, allowed: int, **data: Any) -> Row:
    """A page that everybody has."""
    return Row(name, method, dict.fromkeys(KINDS, allowed), data)


def api(name: str, method: str, needs: str, allowed: int, *, people: bool = True, **data: Any) -> Row:
    """An address of the API about one object. ``people`` is whether a session may use it as well."""
    expected: dict[str, int | str] = dict.fromkeys(NOBODY, 401)
    expected |= dict.fromkeys(STRANGERS, 404)
    expected |= {role: allowed if needs in ROLE_PERMISSIONS[role] else 403 for role in MEMBERS}
    if not people:
        expected |= dict.fromkeys((*STRANGERS, *MEMBERS), 401)
    expected |= {f"key with {scope}": allowed if needs in SCOPE_PERMISSIONS[scope] else 403 for scope in SCOPES}
    expected["key of another project"] = 404
    return Row(name, method, expected, data, "application/json")


def api_list(name: str, needs: str) -> Row:
    """A list of the API: everybody who is known gets it, and finds only what is theirs."""
    row = api(name, "GET", needs, 200)
    row.expected.update(dict.fromkeys((*STRANGERS, *MEMBERS, "key of another project"), 200))
    return row


def about_the_run(**data: str) -> Callable[[Stage], dict[str, Any]]:
    """Return data that names the investigation."""
    return lambda stage: {"investigation": stage.parts["investigation"], **data}


TYPED_PROJECT = {
    "name": "Search",
    "time_zone": "UTC",
    "strategy": "guided",
    "model": "offline",
    "memory_on": "on",
    "relevance": "normal",
}

ROWS = [
    # Alive
    open_page("healthz", "GET", 200),
    open_page("readyz", "GET", 200),
    # Oneself
    own_page("home", "GET", 200, **dict.fromkeys((*MEMBERS, "outsider"), 302)),
    own_page("profile", "GET", 200),
    own_page("profile", "POST", 302, {"name": "N", "time_zone": "UTC", "theme": "dark"}),
    own_page("theme", "POST", 302, {"theme": "dark"}),
    open_page("demo_login", "POST", 404, email="nobody@example.com"),
    open_page("invitation_accept", "GET", 200),
    # Somebody signed in with another address is told so; anybody else is sent on to sign up.
    Row("invitation_accept", "POST", dict.fromkeys(KINDS, 302) | dict.fromkeys((*STRANGERS, *MEMBERS), 410)),
    # The team
    page("team_detail", "GET", TEAM, 200),
    page("member_change", "POST", MANAGE_TEAM, 302, role="responder"),
    page("member_remove", "GET", MANAGE_TEAM, 200),
    page("member_remove", "POST", MANAGE_TEAM, 302),
    page("invitation_create", "POST", MANAGE_TEAM, 200, email="another@example.org", role="viewer"),
    page("invitation_revoke", "POST", MANAGE_TEAM, 302),
    page("project_create", "POST", MANAGE_PROJECT, 302, data={"key": "NEW", "name": "New"}),
    # The project
    page("project_settings", "GET", TEAM, 200),
    page("project_settings", "POST", MANAGE_PROJECT, 302, data=TYPED_PROJECT),
    page("project_lessons", "POST", MANAGE_PROJECT, 302, uses_shared_lessons="on"),
    page("service_create", "POST", MANAGE_PROJECT, 302, data={"name": "suggest"}),
    page("service_change", "POST", MANAGE_PROJECT, 302, data={"name": "search"}),
    page("key_create", "POST", MANAGE_PROJECT, 200, data={"name": "k", "scopes": "alerts:write"}),
    page("key_revoke", "POST", MANAGE_PROJECT, 302),
    # Incidents
    own_page("incident_list", "GET", 200),
    own_page("incident_news", "GET", 204),
    # A list of one's own: an incident that is not visible is as if it did not exist, and the rest is done.
    own_page("incident_bulk", "POST", 302, {"nr": "SEARCH-1", "acknowledge": "1"}, viewer=403),
    own_page("incident_bulk_undo", "POST", 302, {"undo": "forged"}),
    own_page("first_steps_dismiss", "POST", 302),
    own_page("incident_new", "GET", 200),
    # A project in which one may not work is none of the form's choices.
    own_page(
        "incident_new", "POST", 400, {"project": "SEARCH", "text": "disk full", "only": "1"}, responder=302, admin=302
    ),
    page("incident_detail", "GET", VIEW, 200),
    page("incident_live", "GET", VIEW, 200),
    page("incident_saved", "GET", VIEW, 200),
    page("delivery_body", "GET", VIEW, 200),
    page("incident_acknowledge", "POST", WORK, 302),
    page("incident_assign", "POST", WORK, 302, me="1"),
    page("incident_summary", "GET", VIEW, 200),
    page("incident_severity", "POST", WORK, 302, severity="low"),
    page("incident_bring_in", "POST", WORK, 302, data=lambda stage: {"who": stage.people["viewer"].public_id}),
    page("incident_correct", "GET", WORK, 200),
    page("incident_correct", "POST", WORK, 302, environment="prod-eu"),
    page("incident_move", "GET", WORK, 200),
    # It has an investigation that is running and an attempt, so it stays; the form is refused before that.
    page("incident_move", "POST", WORK, 400, project="PAY"),
    page("note_add", "POST", WORK, 302, note="Looking"),
    page("system_text_add", "POST", WORK, 302, system_text="pool: active=40"),
    page("incident_close", "POST", WORK, 302, reason="false_alarm"),
    page("incident_reopen", "POST", WORK, 302),
    page("outcome_record", "POST", WORK, 302, act="later"),
    page("attempt_record", "POST", WORK, 302, what_happened="It came back", fix="new", new_fix="Restart the pool"),
    # Only the author's own, or a team admin's business; the page of another's attempt does not open for a responder.
    page("attempt_correct", "GET", MANAGE_MEMORY, 200),
    page("attempt_correct", "POST", MANAGE_MEMORY, 302, what_happened="Worse", fix="new", new_fix="Fail over"),
    page("feedback_save", "POST", WORK, 302, data=about_the_run(alert_only="yes")),
    page("investigation_start", "POST", WORK, 302),
    page("investigation_answer", "POST", WORK, 302, data=about_the_run(go_on="1")),
    page("investigation_cancel", "POST", WORK, 302),
    page("step_sent", "GET", VIEW, 200),
    # Find and help
    own_page("find", "GET", 200),
    own_page("find_results", "GET", 200),
    own_page("help", "GET", 200),
    # Fixes
    own_page("fix_list", "GET", 200),
    page("fix_detail", "GET", VIEW, 200),
    page("fix_change", "POST", WORK, 302, title="Pause it"),
    page("fix_merge", "POST", WORK, 302, data=lambda stage: {"into": stage.parts["other_fix"]}),
    page("fix_take_apart", "POST", WORK, 302),
    # Memory
    own_page("memory_list", "GET", 200),
    page("memory_detail", "GET", MEMORY, 200),
    page("memory_forget", "GET", MANAGE_MEMORY, 200),
    page("memory_forget", "POST", MANAGE_MEMORY, 302),
    # API
    api("api_alert_create", "POST", "alerts.write", 202, people=False, title="disk full"),
    api_list("api_incident_list", VIEW),
    api("api_incident_detail", "GET", VIEW, 200),
    api("api_investigation_list", "GET", VIEW, 200),
    api("api_investigation_detail", "GET", VIEW, 200),
]  # fmt: skip

# The key names the project to which an alert goes, so there is nothing that could be another's.
next(row for row in ROWS if row.name == "api_alert_create").expected["key of another project"] = 202

# Addresses of other packages, and the answer for what does not exist: tested as a whole, below or in their own files.
ELSEWHERE = re.compile(r"^(account_|mfa_|admin:|api_no_such_address$)")


# --- Tests ------------------------------------------------------------------------------------------------------------


def names(patterns: list[URLPattern | URLResolver], namespace: str = "") -> Iterator[str]:
    """Return the name of every address; one without a name is told by its route."""
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            inner = f"{namespace}{pattern.namespace}:" if pattern.namespace else namespace
            yield from names(pattern.url_patterns, inner)
        else:
            yield f"{namespace}{pattern.name or pattern.pattern}"


def outcome(response: HttpResponse) -> int | str:
    """Return the status, or that the answer sends to the sign-in page."""
    sent_to = response.headers.get("Location", "")
    return LOGIN if sent_to.startswith(("/accounts/login/", "/admin/login/")) else response.status_code


def test_every_address_has_a_row() -> None:
    missing = {name for name in names(get_resolver().url_patterns) if not ELSEWHERE.match(name)} - {
        row.name for row in ROWS
    }

    assert not missing, f"add a row to ROWS for: {', '.join(sorted(missing))}"


def test_every_row_names_an_address_once() -> None:
    rows = [str(row) for row in ROWS]

    assert len(rows) == len(set(rows))
    assert {row.name for row in ROWS} <= set(names(get_resolver().url_patterns))


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_row_answers_each_kind_as_expected(stage: Stage, row: Row) -> None:
    answers = {kind: outcome(stage.call(kind, row)) for kind in KINDS}

    assert answers == {kind: row.expected[kind] for kind in KINDS}


@pytest.mark.parametrize("name", sorted({row.name for row in ROWS}))
def test_method_without_a_row_is_not_allowed(stage: Stage, name: str) -> None:
    rows = [row for row in ROWS if row.name == name]
    kind = "key with alerts:write" if name == "api_alert_create" else "admin"
    others = set(METHODS) - {row.method for row in rows}

    path = address(name, stage.parts)
    answers = {method: stage.send(kind, method, path).status_code for method in others}

    assert answers == dict.fromkeys(others, 405)


@pytest.mark.parametrize("row", [row for row in ROWS if parts_of(row.name) - TOP and parts_of(row.name) & TOP], ids=str)
def test_objects_of_another_team_are_not_found_under_an_address_of_ones_own(stage: Stage, row: Row) -> None:
    forged = stage.parts | stage.other_parts

    response = stage.call("outsider", row, forged)

    assert response.status_code == 404


@pytest.mark.parametrize(
    "row", [row for row in ROWS if parts_of(row.name) and row.expected["stranger"] == 404], ids=str
)
def test_what_does_not_exist_looks_like_what_is_not_yours(stage: Stage, row: Row) -> None:
    theirs = stage.call("stranger", row)
    absent = stage.call("admin", row, stage.parts | _unknown(stage) | {"slug": "nowhere", "key": "NONE", "number": 999})

    assert (absent.status_code, _text(absent)) == (404, _text(theirs))


def _unknown(stage: Stage) -> dict[str, Any]:
    """Return parts for objects that do not exist."""
    return {
        part: uuid.uuid4() if isinstance(value, uuid.UUID) else "nothing"
        for part, value in stage.parts.items()
        if part not in TOP
    }


def _text(response: HttpResponse) -> str:
    """Return what the body says, without the frame around it and without its own address."""
    body = response.content.decode()
    found = re.search(r'<section class="oc-empty">.*?</section>', body, re.S)
    return found[0] if found else body


def test_platform_data_is_there_for_platform_admins_only(stage: Stage) -> None:
    from teams.admin import site

    lists = [f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist" for model in site._registry]
    for name in ("admin:index", *lists):
        expected = dict.fromkeys(KINDS, LOGIN) | dict.fromkeys((*STRANGERS, *MEMBERS), 404) | {"platform admin": 200}
        answers = {kind: outcome(stage.send(kind, "GET", reverse(name))) for kind in KINDS}
        assert answers == expected, name


def test_platform_data_has_no_sign_in_of_its_own(stage: Stage) -> None:
    response = stage.send("anonymous", "GET", "/admin/login/?next=/admin/teams/team/")

    assert response.headers["Location"] == "/accounts/login/?next=/admin/teams/team/"


def test_platform_data_cannot_be_changed(stage: Stage) -> None:
    user = stage.people["viewer"]
    changes = [
        reverse("admin:teams_user_add"),
        reverse("admin:teams_user_change", args=[user.pk]),
        reverse("admin:teams_user_delete", args=[user.pk]),
    ]

    answers = [stage.send("platform admin", "POST", change).status_code for change in changes]

    assert answers == [403, 403, 403]


def test_platform_data_shows_no_incident_and_no_secret() -> None:
    from teams.admin import site

    assert {model._meta.app_label for model in site._registry} == {"teams"}
    assert "secret_hash" not in {f.name for model in site._registry for f in model._meta.fields}


@pytest.mark.parametrize("path", ["/api/v1/nothing/", "/api/v2/incidents/", "/api/nothing/"])
def test_unknown_api_address_answers_as_the_api_does(stage: Stage, path: str) -> None:
    answers = {kind: stage.send(kind, "GET", path) for kind in ("anonymous", "admin", "key with alerts:write")}

    assert {kind: answer.status_code for kind, answer in answers.items()} == {
        "anonymous": 401,
        "admin": 404,
        "key with alerts:write": 404,
    }
    assert {answer.headers["Content-Type"] for answer in answers.values()} == {"application/problem+json"}


def test_sessions_and_deny_by_default_are_on() -> None:
    middleware = "oncall.kept_forms.SignInFirst"

    assert middleware in django_settings.MIDDLEWARE
    assert django_settings.REST_FRAMEWORK["DEFAULT_PERMISSION_CLASSES"] == [
        "rest_framework.permissions.IsAuthenticated"
    ]
