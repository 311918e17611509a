"""Where allauth asks us: may somebody sign up, who they are, and from which address they come."""

from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.core.exceptions import ImmediateHttpResponse
from django.db import transaction
from django.http import HttpRequest
from django.shortcuts import redirect

from teams import entrance, services
from teams.models import User


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]
    """Sign-up is by invitation, for the invited address only."""

    error_messages = DefaultAccountAdapter.error_messages | {
        "no_invitation": "The invitation was made for another address.",
        "email_password_mismatch": "Email and password do not match. Check both, or set a new password.",
    }

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """Return whether this browser opened an invitation that can still be used."""
        return entrance.invitation_of(request) is not None

    def clean_email(self, email: str) -> str:
        """Return the address in lower case: two spellings are one person. Sign-up takes the invited one only.

        Asked again once the account is made, when the invitation is used and there is nothing left to compare.
        """
        address: str = super().clean_email(email).lower()
        match = self.request.resolver_match
        invitation = entrance.invitation_of(self.request) if match and match.url_name == "account_signup" else None
        if invitation and address != invitation.email:
            raise self.validation_error("no_invitation")
        return address

    def save_user(self, request: HttpRequest, user: User, form: Any, commit: bool = True) -> User:
        """Make the person and let them into the team that invited them, both or neither."""
        secret = entrance.remembered_secret(request)
        user.name = form.cleaned_data["name"]
        try:
            with transaction.atomic():
                saved: User = super().save_user(request, user, form, commit)
                services.welcome(user=saved)
                services.accept_invitation(secret=secret, user=saved)
        except services.InvitationProblem:
            # Another browser used the link while this one filled in the form; its page says so.
            raise ImmediateHttpResponse(redirect("invitation_accept", secret)) from None
        entrance.forget_invitation(request)
        # The link was sent to this address, so it is proven; allauth makes the row for it from this.
        self.stash_verified_email(request, saved.email)
        return saved

    def confirm_email(self, request: HttpRequest, email_address: Any) -> bool:
        """Confirm a further address of a person, which from then on is a known name of theirs."""
        confirmed: bool = super().confirm_email(request, email_address)
        if confirmed:
            services.add_address(user=email_address.user, email=email_address.email)
        return confirmed

    def get_client_ip(self, request: HttpRequest) -> str:
        """Return the address that limits count by; allauth's own answers 500 to a header with too few entries."""
        return entrance.client_address(request)
