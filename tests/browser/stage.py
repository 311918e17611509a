"""What the tests of pages need beside the example data: made by ``manage.py shell``, which prints where it is."""

import json

from allauth.account.forms import default_token_generator
from allauth.account.models import EmailConfirmationHMAC
from allauth.account.utils import user_pk_to_url_str
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP
from django.urls import reverse

from incidents.models import Attempt, MemoryRecord, Step
from teams import services
from teams.models import Project, Team, User
from tests import factories

OTTOS_SECRET = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"
HOSTILE = "\n".join(
    (
        "[FIRING:1] " + "Überlast 🔥 مرحبا " * 12 + "severity=high service=search-api env=prod",
        "W" * 5000,
        "<script>alert(1)</script> <img src=x onerror=alert(1)> {{ 7|add:7 }} &amp; \u202egnp.exe",
        "see javascript:alert(1) and https://good.example@evil.example/" + "path/" * 300,
    )
)


def make() -> dict[str, str]:
    """Make the people and things, and return the paths of what has an id in its address."""
    discovery, admin = Team.objects.get(slug="discovery"), User.objects.get(email="ines@example.com")
    rosa = factories.make_member(team=discovery, role="admin", email="rosa@example.com", name="Rosa Responder")
    second = rosa.emailaddress_set.create(email="rosa.second@example.org")
    otto = factories.make_user(email="otto@example.com", name="Otto Twofactor")
    TOTP.activate(otto, OTTOS_SECRET)
    RecoveryCodes.activate(otto)
    nadia = factories.make_user(email="nadia@example.com", name="Nadia Newpass")
    factories.make_user(email="nina@example.com", name="Nina Neverin")
    _, invitation = services.invite(team=discovery, email="guest@example.org", role="viewer", by=admin)
    hostile = factories.make_incident(project=Project.objects.get(key="CAT"), by=rosa, text=HOSTILE)
    attempt = Attempt.objects.filter(incident__project__key="SEARCH", superseded_by=None).order_by("pk")[0]
    step = Step.objects.filter(diagnosis__investigation__incident__project__key="SEARCH").exclude(sent_hash="")[0]
    incident = step.diagnosis.investigation.incident
    record = MemoryRecord.objects.filter(incident__project__key="SEARCH").order_by("pk")[0]
    return {
        "invitation": reverse("invitation_accept", args=[invitation]),
        "reset": reverse(
            "account_reset_password_from_key",
            args=[user_pk_to_url_str(nadia), default_token_generator.make_token(nadia)],
        ),
        "confirm": reverse("account_confirm_email", args=[EmailConfirmationHMAC(second).key]),
        "hostile": hostile.get_absolute_url(),
        "attempt": reverse("attempt_correct", args=["SEARCH", attempt.incident.number, attempt.public_id]),
        "fix": reverse("fix_detail", args=[attempt.fix.public_id]),
        "step": reverse("step_sent", args=["SEARCH", incident.number, step.public_id]),
        "record": reverse("memory_detail", args=[record.public_id]),
        "team": reverse("admin:teams_team_change", args=[discovery.pk]),
        "history": reverse("admin:teams_team_history", args=[discovery.pk]),
        "member": reverse("member_change", args=["discovery", User.objects.get(email="mei@example.com").public_id]),
    }


def show() -> None:
    """Print what was made."""
    print(json.dumps(make()))  # noqa: T201
