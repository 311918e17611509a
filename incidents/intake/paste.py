"""A paste: JSON if it is some, otherwise text as it stands."""

from incidents.intake import generic
from incidents.intake.normal import NormalAlert, Unreadable


def read(text: str) -> list[NormalAlert]:
    """Return the alerts of what a person pasted; there is always at least one."""
    if text.lstrip()[:1] in ("{", "["):
        try:
            return generic.read(text)
        except Unreadable:
            pass  # people paste cut and commented JSON: it is text then
    return [NormalAlert(text=text)]
