"""Make the first platform admin, or make somebody one."""

from argparse import ArgumentParser
from typing import Any

from allauth.account.forms import default_token_generator
from allauth.account.utils import user_pk_to_url_str
from django.core.management.base import BaseCommand
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
        """Make them and print the link's path; the host is the one that you serve."""
        with audit.acting("command"), transaction.atomic():
            user = User.objects.filter(email=email.strip().lower()).first()
            if user is None:
                user = services.create_user(email=email, name=name or email, by=None, is_platform_admin=True)
            elif not user.is_platform_admin:
                User.objects.filter(pk=user.pk).update(is_platform_admin=True)
                audit.record("person.make_platform_admin", by=None, on=user, team=None)
        key = f"{user_pk_to_url_str(user)}-{default_token_generator.make_token(user)}"
        uid, _, token = key.partition("-")
        path = reverse("account_reset_password_from_key", kwargs={"uidb36": uid, "key": token})
        self.stdout.write(f"{user.email} is a platform admin. Set the password at {path} of this server, once.")
