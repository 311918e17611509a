"""Forms that came too late: the session had ended, or the token was of another one. What was typed is given back.

The page holds the same form again, with a fresh token and what was typed to see. Nothing of it is stored. A form that
another site sent is never given back: the person could be talked into pressing its button.
"""

import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render, resolve_url
from django.utils.http import urlencode

# Never put back into a page.
_SECRET = re.compile(r"passw|secret|token|code", re.IGNORECASE)
# A value of this length or with a line break was written, not chosen.
_WRITTEN_FROM = 16


@dataclass(frozen=True)
class Kept:
    """A field of the form. ``written`` is shown; the rest, such as what was chosen, goes along unseen."""

    name: str
    value: str
    written: bool


def kept_fields(request: HttpRequest) -> list[Kept]:
    """Return what the form holds; nothing when there is nothing to lose or it must not be given back."""
    if request.method != "POST" or not _is_our_own(request):
        return []
    names = [name for name in request.POST if name != "csrfmiddlewaretoken"]
    if any(_SECRET.search(name) for name in names):
        return []
    return [
        Kept(name, value, written=len(value) >= _WRITTEN_FROM or "\n" in value)
        for name in names
        for value in request.POST.getlist(name)
    ]


def _is_our_own(request: HttpRequest) -> bool:
    """Return whether a page of ours sent the form. Every browser of today says where a POST comes from."""
    origin = request.headers.get("Origin")
    return origin is None or urlsplit(origin).netloc == request.get_host()


def _back(request: HttpRequest) -> str:
    """Return the page that the form stood on, as far as the browser says: only a path of ours."""
    came_from = urlsplit(request.headers.get("Referer", ""))
    return came_from.path if came_from.netloc == request.get_host() else resolve_url(settings.LOGIN_REDIRECT_URL)


@login_not_required
def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Return the form with a fresh token: somebody signed in or out since it was opened."""
    fields = kept_fields(request)
    # No refusal of a person: see teams.middleware.
    request.csrf_refused = True  # type: ignore[attr-defined]
    return render(request, "403_csrf.html", {"fields": fields, "back": _back(request)}, status=403)


class SignInFirst(LoginRequiredMiddleware):
    """As Django's, but a form is given back instead of lost, and nobody is sent to an address that takes no GET."""

    def handle_no_permission(  # type: ignore[override]
        self, request: HttpRequest, view_func: Any
    ) -> HttpResponse:
        """Return the sign-in page, or the form with a link to it."""
        if request.method in ("GET", "HEAD"):
            response: HttpResponse = super().handle_no_permission(request, view_func)
            return response
        sign_in = f"{resolve_url(self.get_login_url(view_func))}?{urlencode({'next': _back(request)})}"
        fields = kept_fields(request)
        if not fields:
            return redirect(sign_in)
        return render(request, "signed_out.html", {"fields": fields, "sign_in": sign_in}, status=403)
