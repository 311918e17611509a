"""The forms of people and teams."""

from django import forms


class SignupForm(forms.Form):
    """What sign-up asks beside address and password."""

    name = forms.CharField(max_length=120)

    def signup(self, request: object, user: object) -> None:
        """Keep the name; called by allauth once the person exists."""
        user.name = self.cleaned_data["name"]  # type: ignore[attr-defined]
        user.save(update_fields=["name"])  # type: ignore[attr-defined]
