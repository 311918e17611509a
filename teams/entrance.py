"""How somebody comes in: from which address, with which invitation, or as one of the example people."""

from django.conf import settings
from django.http import HttpRequest

from teams.models import Invitation, Membership, User
from teams.services import InvitationProblem, find_invitation

_INVITATION = "invitation"

# Example people have an address at example.com, which nobody can own, and no password.
DEMO_DOMAIN = "@example.com"


def client_address(request: HttpRequest) -> str:
    """Return the client's address: as the last trusted proxy saw it, else that of the connection.

    With fewer entries than trusted proxies the header is not the proxies' work, and is ignored.
    """
    hops = [hop.strip() for hop in request.headers.get("X-Forwarded-For", "").split(",") if hop.strip()]
    trusted: int = settings.TRUSTED_PROXY_COUNT
    address = hops[-trusted] if 0 < trusted <= len(hops) else request.META.get("REMOTE_ADDR", "")
    return str(address)[:45]


def remember_invitation(request: HttpRequest, secret: str) -> None:
    """Keep the invitation of the link that this browser opened until its person has signed up."""
    request.session[_INVITATION] = secret


def remembered_secret(request: HttpRequest) -> str:
    """Return the secret of the remembered invitation; empty when there is none."""
    return str(request.session.get(_INVITATION, ""))


def forget_invitation(request: HttpRequest) -> None:
    """Let the remembered invitation go: it was used."""
    request.session.pop(_INVITATION, None)


def invitation_of(request: HttpRequest) -> Invitation | None:
    """Return the remembered invitation while it can still be used."""
    secret = remembered_secret(request)
    if not secret:
        return None
    try:
        return find_invitation(secret)
    except InvitationProblem:
        return None


def demo_people() -> list[dict[str, str]]:
    """Return the example people who can sign in by a button; none outside the local profile."""
    if not settings.LOCAL:
        return []
    candidates = User.objects.filter(email__endswith=DEMO_DOMAIN, is_active=True).order_by("pk")
    people = [person for person in candidates if not person.has_usable_password()]
    active = Membership.objects.filter(user__in=people, left_at=None).select_related("team")
    memberships = {membership.user_id: membership for membership in active}
    found = []
    for person in people:
        membership = memberships.get(person.pk)
        role = membership.get_role_display() if membership else _platform_role(person)
        if role:
            team = membership.team.name if membership else ""
            found.append({"email": person.email, "name": person.name, "role": role, "team": team})
    return found


def _platform_role(person: User) -> str:
    if person.is_platform_admin:
        return "Platform admin"
    return "Lesson reviewer" if person.is_lesson_reviewer else ""
