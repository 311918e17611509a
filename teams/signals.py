"""What Django and allauth tell us by signals, which is the only way they have for these; our own code sends none.

Who signed in and out, and who tried and failed, stands in the platform's chain. A second factor that is switched on or
off ends every other session of the person: whoever holds one of them (a lost laptop, a thief) must prove themselves
anew.
"""

from typing import Any

from allauth.mfa import signals as mfa
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.db import transaction
from django.http import HttpRequest

from teams import audit, services
from teams.models import User


def listen() -> None:
    """Connect; called once when the app is ready."""
    user_logged_in.connect(signed_in, dispatch_uid="teams.signed_in")
    user_logged_out.connect(signed_out, dispatch_uid="teams.signed_out")
    user_login_failed.connect(sign_in_failed, dispatch_uid="teams.sign_in_failed")
    for signal in (mfa.authenticator_added, mfa.authenticator_removed):
        signal.connect(end_other_sessions, dispatch_uid="teams.end_other_sessions")


def signed_in(user: User, **_: Any) -> None:
    """Write down that the person signed in."""
    with transaction.atomic():
        audit.record("person.sign_in", by=user, on=user, team=None)


def signed_out(user: User | None, **_: Any) -> None:
    """Write down that the person signed out; nobody was signed in where there is no person."""
    if user is not None:
        with transaction.atomic():
            audit.record("person.sign_out", by=user, on=user, team=None)


def sign_in_failed(credentials: dict[str, Any], **_: Any) -> None:
    """Write down a wrong password of somebody we know. An address that is nobody's is not kept."""
    address = str(credentials.get("email") or credentials.get("username") or "").strip().lower()
    found = User.objects.filter(email=address).first() if address else None
    if found:
        with transaction.atomic():
            audit.record("person.sign_in_failed", by=None, on=found, team=None)


def end_other_sessions(request: HttpRequest, user: User, **_: Any) -> None:
    """Sign the person out everywhere but here."""
    services.end_sessions(user=user, by=user)
    update_session_auth_hash(request, user)
