"""A person. The e-mail address is the login; two spellings of it are one person."""

import uuid
from typing import Any, ClassVar

from django.contrib.auth.models import AbstractBaseUser, BaseUserManager
from django.db import models
from django.db.models.functions import Lower
from django.utils.crypto import salted_hmac


class UserManager(BaseUserManager["User"]):
    """Makes people, with their address in lower case."""

    def create_user(self, email: str, password: str | None = None, **fields: Any) -> "User":
        """Return a new person; without a password they can sign in only by a link."""
        if not email:
            raise ValueError("A person needs an e-mail address.")
        user = self.model(email=email.strip().lower(), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def get_by_natural_key(self, username: str | None) -> "User":
        """Return the person with this address, whatever its case."""
        return self.get(email=(username or "").strip().lower())


class User(AbstractBaseUser):
    """Somebody who signs in. What they may do in a team stands in ``Membership``."""

    class Theme(models.TextChoices):
        """How the pages look."""

        SYSTEM = "system", "As the system"
        LIGHT = "light", "Light"
        DARK = "dark", "Dark"

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    email = models.EmailField("e-mail address", unique=True)
    name = models.CharField(max_length=120)
    is_active = models.BooleanField(default=True)
    is_platform_admin = models.BooleanField(default=False)
    is_lesson_reviewer = models.BooleanField(default=False)
    time_zone = models.CharField(max_length=64, default="UTC")
    theme = models.CharField(max_length=8, choices=Theme.choices, default=Theme.SYSTEM)
    shortcuts_on = models.BooleanField("keyboard shortcuts", default=True)
    first_steps_dismissed_at = models.DateTimeField(null=True, blank=True)
    joined_at = models.DateTimeField(auto_now_add=True)
    # Stands in every session's hash: counted up, it ends them all.
    session_epoch = models.PositiveIntegerField(default=0, editable=False)

    objects: ClassVar[UserManager] = UserManager()

    USERNAME_FIELD = "email"
    EMAIL_FIELD = "email"
    REQUIRED_FIELDS = ["name"]

    class Meta:
        """One person for each address."""

        constraints = [models.UniqueConstraint(Lower("email"), name="user_email_any_case")]

    def __str__(self) -> str:
        return self.name or self.email

    @property
    def is_staff(self) -> bool:
        """Whether Django's admin site lets them in: read-only, platform admins only."""
        return self.is_platform_admin

    def _get_session_auth_hash(self, secret: str | None = None) -> str:
        """Return what a session must carry to be this person's: it ends with a new password and a new epoch."""
        own = salted_hmac("teams.User.session_epoch", f"{self.password}:{self.session_epoch}", secret=secret)
        return own.hexdigest()

    def has_perm(self, perm: str, obj: object = None) -> bool:
        """Return whether the admin site may show something: a platform admin may view, nobody may change."""
        return self.is_active and self.is_platform_admin and perm.split(".")[-1].startswith("view_")

    def has_module_perms(self, app_label: str) -> bool:
        """Return whether the admin site lists the app."""
        return self.is_active and self.is_platform_admin
