"""What allauth tells us by signals, which is the only way it has for these; our own code sends none.

A second factor that is switched on or off ends every other session of the person: whoever holds one of them (a lost
laptop, a thief) must prove themselves anew.
"""

from typing import Any

from allauth.mfa import signals as mfa
from django.contrib.auth import update_session_auth_hash
from django.http import HttpRequest

from teams import services
from teams.models import User


def listen() -> None:
    """Connect; called once when the app is ready."""
    for signal in (mfa.authenticator_added, mfa.authenticator_removed):
        signal.connect(end_other_sessions, dispatch_uid="teams.end_other_sessions")


def end_other_sessions(request: HttpRequest, user: User, **_: Any) -> None:
    """Sign the person out everywhere but here."""
    services.end_sessions(user=user, by=user)
    update_session_auth_hash(request, user)
