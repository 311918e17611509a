"""Where allauth asks us: may somebody sign up, and where to after signing in."""

from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from django.http import HttpRequest

from teams.models import Invitation, User
from teams.services import InvitationProblem, accept_invitation, find_invitation

SESSION_KEY = "invitation"


def invitation_of(request: HttpRequest) -> Invitation | None:
    """Return the open invitation whose link this browser opened, if there is one."""
    secret = request.session.get(SESSION_KEY)
    if not secret:
        return None
    try:
        return find_invitation(secret)
    except InvitationProblem:
        return None


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]
    """Sign-up is by invitation, for the invited address only."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """Return whether this browser opened an invitation that can still be used."""
        return invitation_of(request) is not None

    def clean_email(self, email: str) -> str:
        """Return the address in lower case: two spellings are one person."""
        address: str = super().clean_email(email).lower()
        match = self.request.resolver_match
        if match and match.url_name == "account_signup":
            invitation = invitation_of(self.request)
            if invitation is None or address != invitation.email:
                raise self.validation_error("no_invitation")
        return address

    error_messages = DefaultAccountAdapter.error_messages | {
        "no_invitation": "The invitation was made for another address.",
        "email_password_mismatch": "Email and password do not match. Check both, or set a new password.",
    }

    def save_user(self, request: HttpRequest, user: User, form: Any, commit: bool = True) -> User:
        """Make the person and let them in: the link was sent to their address, so it is proven."""
        saved: User = super().save_user(request, user, form, commit)
        secret = request.session.pop(SESSION_KEY, None)
        if commit and secret:
            accept_invitation(secret=secret, user=saved)
        return saved
