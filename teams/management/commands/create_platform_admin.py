"""Make the first platform admin, or make somebody one."""

from argparse import ArgumentParser
from typing import Any

from allauth.account.forms import default_token_generator
from allauth.account.utils import user_pk_to_url_str
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError
from django.core.validators import validate_email
from django.db import transaction
from django.urls import reverse

from teams import audit, services
from teams.models import User


class Command(BaseCommand):
    """Prints a link that sets the password, good for one use."""

    help = "Make a platform admin and print a link that sets their password."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The person's address, and name if they are new."""
        parser.add_argument("email")
        parser.add_argument("--name", default="")

    def handle(self, *args: Any, email: str, name: str, **options: Any) -> None:
        """Make them and print the link's path; the host is the one that you serve.

        Raises:
            CommandError: that is no address, or the person is disabled.
        """
        try:
            validate_email(email)
        except ValidationError:
            raise CommandError(f"{email!r} is no e-mail address.") from None
        with audit.acting("command"), transaction.atomic():
            user = User.objects.filter(email=email.strip().lower()).first()
            if user is None:
                user = services.create_user(email=email, name=name or email, by=None, is_platform_admin=True)
            elif not user.is_active:
                raise CommandError(f"{user.email} is disabled.")
            else:
                services.make_platform_admin(user=user, by=None)
        link = {"uidb36": user_pk_to_url_str(user), "key": default_token_generator.make_token(user)}
        path = reverse("account_reset_password_from_key", kwargs=link)
        self.stdout.write(f"{user.email} is a platform admin. Set the password at {path} of this server, once.")
