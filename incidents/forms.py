"""What people fill in. A form validates and says what is wrong with which field; it writes nothing."""

from typing import Any
from uuid import UUID

from django import forms

from incidents.models import Fix, Incident
from incidents.reading.text import clean
from teams.models import Project, Service


class NewAlertForm(forms.Form):
    """Paste an alert into one of the projects that the person may work in."""

    project = forms.ModelChoiceField(queryset=Project.objects.none(), to_field_name="key", empty_label=None)
    # NUL and other control characters are the intake's business: what was pasted is kept, whatever it holds.
    text = forms.CharField(widget=forms.Textarea, strip=False, error_messages={"required": "Paste the alert's text."})
    title = forms.CharField(max_length=200, required=False)

    def __init__(self, *args: Any, projects: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["project"].queryset = projects  # type: ignore[attr-defined]
        self.fields["text"].validators = []

    def clean_text(self) -> str:
        """Refuse a text of nothing but white space."""
        text: str = self.cleaned_data["text"]
        if not text.strip():
            raise forms.ValidationError("Paste the alert's text.", code="required")
        return text


class NoteForm(forms.Form):
    """A note for the timeline."""

    note = forms.CharField(max_length=10_000, error_messages={"required": "Write the note first."})


class SystemTextForm(forms.Form):
    """*More from the system*."""

    system_text = forms.CharField(
        max_length=20_000, strip=False, error_messages={"required": "Paste what the system says."}
    )


class SeverityForm(forms.Form):
    """How bad it is, as the person knows it."""

    severity = forms.ChoiceField(choices=Incident.Severity.choices)


class CorrectForm(forms.Form):
    """Service and environment, as the person knows them; an empty one is not known."""

    service = forms.ModelChoiceField(
        queryset=Service.objects.none(), to_field_name="public_id", required=False, empty_label="Not known"
    )
    environment = forms.CharField(max_length=60, required=False)

    def __init__(self, *args: Any, project: Project, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["service"].queryset = project.services.all()  # type: ignore[attr-defined]


class AssignForm(forms.Form):
    """Who takes over; empty is nobody."""

    assignee = forms.UUIDField(required=False)
    word = forms.CharField(max_length=300, required=False)


class CloseForm(forms.Form):
    """Close without a fix."""

    reason = forms.ChoiceField(choices=[(reason.value, reason.label) for reason in Incident.CLOSED_WITHOUT_A_FIX])
    duplicate_of = forms.CharField(max_length=24, required=False)

    def clean(self) -> dict[str, Any]:
        """A duplicate names the other incident."""
        cleaned = super().clean() or {}
        if cleaned.get("reason") == Incident.CloseReason.DUPLICATE and not cleaned.get("duplicate_of"):
            self.add_error("duplicate_of", "Name the other incident, such as SEARCH-41.")
        return cleaned


class ReopenForm(forms.Form):
    """Reopening asks whether the fix held."""

    held = forms.TypedChoiceField(
        choices=[("yes", "It held"), ("no", "It did not hold"), ("unknown", "Not known")],
        coerce=lambda value: {"yes": True, "no": False}.get(value),
        empty_value=None,
        required=False,
    )


class FollowedForm(forms.Form):
    """What an outcome and an attempt share: what was followed, and which fix.

    ``followed`` is ``record:<ref>`` (a cited record), ``action:<diagnosis kind>:<index>`` (a suggestion) or
    ``something_else``; ``fix`` a fix's public id, or ``new`` with a name.
    """

    followed = forms.CharField(max_length=60, required=False)
    fix = forms.CharField(max_length=40, required=False)
    new_fix = forms.CharField(max_length=160, required=False)

    def __init__(self, *args: Any, project: Project, followable: dict[str, str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.project = project
        self.followable = followable

    def clean_new_fix(self) -> str:
        """Return the name as it would be kept; one of nothing but control characters is none."""
        return clean(self.cleaned_data["new_fix"]).strip()

    def clean_followed(self) -> str:
        """Only what stands on the page can have been followed."""
        followed: str = self.cleaned_data["followed"] or "something_else"
        if followed != "something_else" and followed not in self.followable:
            raise forms.ValidationError("Choose one of those on the page.", code="invalid_choice")
        return followed

    def clean(self) -> dict[str, Any]:
        """Exactly one of a known fix and a new name."""
        cleaned = super().clean() or {}
        chosen, name = cleaned.get("fix", ""), cleaned.get("new_fix", "")
        cleaned["known_fix"] = None
        if chosen and chosen != "new":
            cleaned["known_fix"] = self._known_fix(chosen)
            if cleaned["known_fix"] is None:
                self.add_error("fix", "Choose one of the fixes in the list.")
            elif name:
                self.add_error("new_fix", "Leave this empty, or choose “A new fix” beside it.")
        elif not name:
            self.add_error("new_fix" if chosen == "new" else "fix", "Choose a fix, or name a new one.")
        return cleaned

    def _known_fix(self, public_id: str) -> Fix | None:
        try:
            field = forms.UUIDField().clean(public_id)
        except forms.ValidationError:
            return None
        # One that was merged meanwhile will do: the service names what is left of it.
        return self.project.fixes.filter(public_id=field).select_related("merged_into").first()


class OutcomeForm(FollowedForm):
    """The root cause and the fix that worked."""

    root_cause = forms.CharField(max_length=4000, required=False)
    what_was_done = forms.CharField(max_length=4000, required=False)
    minutes = forms.IntegerField(min_value=0, max_value=60 * 24 * 90)
    runbook = forms.CharField(max_length=500, required=False)
    command = forms.CharField(max_length=2000, required=False)

    def clean_root_cause(self) -> str:
        """Return the cause as it would be kept; one of nothing but control characters is none."""
        return clean(self.cleaned_data["root_cause"]).strip()

    def clean(self) -> dict[str, Any]:
        """A new fix needs its cause and what was done; a known one may be confirmed without a word."""
        cleaned = super().clean()
        if not cleaned.get("known_fix") and not cleaned.get("root_cause") and "root_cause" not in self.errors:
            self.add_error("root_cause", "Say what caused it: that is what the next engineer will look for.")
        return cleaned


class AttemptForm(FollowedForm):
    """A fix that was tried and failed."""

    what_happened = forms.CharField(max_length=4000, required=False)


class FeedbackForm(forms.Form):
    """Ratings of the two answers; one that is not sent stays as it is."""

    alert_only = forms.ChoiceField(choices=[("yes", "Helpful"), ("no", "Not helpful")], required=False)
    with_memory = forms.ChoiceField(choices=[("yes", "Helpful"), ("no", "Not helpful")], required=False)
    note = forms.CharField(max_length=2000, required=False)

    def clean(self) -> dict[str, Any]:
        """At least one answer is rated."""
        cleaned = super().clean() or {}
        if not cleaned.get("alert_only") and not cleaned.get("with_memory"):
            self.add_error(None, "Choose helpful or not helpful for one of the answers.")
        return cleaned


class FixForm(forms.Form):
    """What a fix is called, what it takes, and where it is written down."""

    title = forms.CharField(max_length=160, error_messages={"required": "A fix needs a name."})
    steps = forms.CharField(max_length=4000, required=False, widget=forms.Textarea)
    command = forms.CharField(max_length=2000, required=False)
    runbook_title = forms.CharField(max_length=120, required=False)
    runbook_url = forms.CharField(max_length=500, required=False)

    def clean_runbook_url(self) -> str:
        """Only an address that a browser may open."""
        url: str = self.cleaned_data["runbook_url"]
        if url and not url.startswith(("http://", "https://")):
            raise forms.ValidationError("A link starts with https:// or http://.", code="invalid")
        return url


class MergeForm(forms.Form):
    """Which fix of the same project a duplicate is merged into."""

    into = forms.ModelChoiceField(
        queryset=Fix.objects.none(),
        to_field_name="public_id",
        error_messages={"required": "Choose the fix that stays.", "invalid_choice": "Choose one of those in the list."},
    )

    def __init__(self, *args: Any, others: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["into"].queryset = others  # type: ignore[attr-defined]


class MoveForm(forms.Form):
    """To which project a misplaced paste belongs."""

    project = forms.ModelChoiceField(
        queryset=Project.objects.none(),
        to_field_name="key",
        error_messages={"required": "Choose the project.", "invalid_choice": "Choose one of those in the list."},
    )

    def __init__(self, *args: Any, projects: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["project"].queryset = projects  # type: ignore[attr-defined]


class BringInForm(forms.Form):
    """Who is brought in: a member, or None for the project's escalation contact; assigned only where ticked."""

    CONTACT = "contact"

    who = forms.CharField(max_length=40, error_messages={"required": "Choose somebody."})
    assign = forms.BooleanField(required=False)

    def clean_who(self) -> UUID | None:
        """Return the member's id."""
        if self.cleaned_data["who"] == self.CONTACT:
            return None
        try:
            return UUID(self.cleaned_data["who"])
        except ValueError:
            raise forms.ValidationError("Choose one of those in the list.", code="invalid_choice") from None
