"""What a view may rely on."""

from django.http import HttpRequest

from teams.models import User


class PersonRequest(HttpRequest):
    """A request of a signed-in person: the login-required middleware lets no other through. For annotations only."""

    user: User
