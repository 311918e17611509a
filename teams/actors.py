"""Who can ask for something: a person, or a machine with a project's key."""

from dataclasses import dataclass

from teams.models import ApiKey, Project, User


@dataclass(frozen=True)
class KeyActor:
    """A machine that showed a valid API key. It acts for one project, within the key's scopes, and is no person."""

    key: ApiKey

    is_authenticated = True
    is_anonymous = False
    is_active = True

    @property
    def project(self) -> Project:
        """The only project that it may touch."""
        return self.key.project

    @property
    def pk(self) -> str:
        """What throttles count by."""
        return f"key:{self.key.key_id}"


Actor = User | KeyActor
