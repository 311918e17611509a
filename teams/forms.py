"""The forms of people and teams. They validate; services write."""

import re
import zoneinfo
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from teams.models import ApiKey, Membership, Project, User

ZONES = sorted(zoneinfo.available_timezones())


class SignupForm(forms.Form):
    """What sign-up asks beside address and password."""

    name = forms.CharField(max_length=120)

    def signup(self, request: Any, user: User) -> None:
        """Do nothing: allauth demands the method, and the adapter has kept the name with the person."""


class ZoneField(forms.ChoiceField):
    """A time zone of the tz database."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(choices=[(zone, zone.replace("_", " ")) for zone in ZONES], **kwargs)


class ProfileForm(forms.ModelForm):  # type: ignore[type-arg]
    """What a person may change of themselves."""

    time_zone = ZoneField()

    class Meta:
        """The person's own fields."""

        model = User
        fields = ["name", "time_zone", "theme", "shortcuts_on"]


class RoleForm(forms.Form):
    """A member's role."""

    role = forms.ChoiceField(choices=Membership.Role.choices)


class InviteForm(forms.Form):
    """Whom to invite, as what."""

    email = forms.EmailField(label="E-mail address", max_length=254)
    role = forms.ChoiceField(choices=Membership.Role.choices, initial=Membership.Role.RESPONDER)


class ProjectForm(forms.ModelForm):  # type: ignore[type-arg]
    """A new project."""

    class Meta:
        """Key and name; the rest has its page."""

        model = Project
        fields = ["key", "name"]
        error_messages = {"key": {"unique": "This key was given before. A key is never used again."}}

    def clean_key(self) -> str:
        """Keys are capitals."""
        return str(self.cleaned_data["key"]).upper()


class ProjectSettingsForm(forms.ModelForm):  # type: ignore[type-arg]
    """How a project's investigations run."""

    time_zone = ZoneField()

    class Meta:
        """Everything a team admin may set."""

        model = Project
        fields = ["name", "time_zone", "strategy", "model", "memory_on", "relevance", "escalation_contact"]
        widgets = {"strategy": forms.RadioSelect, "model": forms.RadioSelect, "relevance": forms.RadioSelect}


class LessonSwitchesForm(forms.ModelForm):  # type: ignore[type-arg]
    """The two switches for shared lessons."""

    class Meta:
        """Both are off at first."""

        model = Project
        fields = ["uses_shared_lessons", "contributes_lessons"]


class ServiceForm(forms.Form):
    """A service and the other names that alerts call it by."""

    name = forms.CharField(max_length=120)
    aliases = forms.CharField(max_length=500, required=False)

    def clean_aliases(self) -> list[str]:
        """Return the aliases, each once."""
        names = [name.strip() for name in re.split(r"[,\n]", self.cleaned_data["aliases"])]
        if any(len(name) > 120 for name in names):
            raise ValidationError("An alias has at most 120 characters.")
        return list(dict.fromkeys(name for name in names if name))


class ApiKeyForm(forms.Form):
    """A new API key."""

    name = forms.CharField(max_length=80, help_text="Where it is used")
    scopes = forms.MultipleChoiceField(
        choices=ApiKey.Scope.choices, widget=forms.CheckboxSelectMultiple, initial=[ApiKey.Scope.ALERTS_WRITE]
    )
