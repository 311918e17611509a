"""What a view may rely on."""

from django.http import HttpRequest

from teams.models import Project, User


class PersonRequest(HttpRequest):
    """A request of a signed-in person: the login-required middleware lets no other through. For annotations only."""

    # Set by a view that fetched it, so that the frame need not fetch it again.
    project: Project

    user: User
