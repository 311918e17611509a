"""Django's admin: read-only, for platform admins, and without anybody's incidents."""

from typing import Any

from django.contrib import admin
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import redirect_to_login
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.decorators import method_decorator

from teams.models import AuditEvent, Bank, BankAssignment, Membership, Project, Team, User


class PlatformData(admin.AdminSite):
    """A site of its own, so that it shows these tables only: other apps register sign-in secrets with the default."""

    site_header = site_title = "On-Call Copilot, platform data"

    def admin_view(self, view: Any, cacheable: bool = False) -> Any:
        """Let platform admins through; Django's own answers others with a redirect, which tells that it is there."""
        inner = super().admin_view(view, cacheable)

        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            return inner(request, *args, **kwargs) if self.has_permission(request) else self.login(request)

        return guarded

    def get_urls(self) -> list[Any]:
        """Leave out the pages for signing out and changing the password: the product has its own."""
        own = {"logout", "password_change", "password_change_done"}
        return [pattern for pattern in super().get_urls() if getattr(pattern, "name", None) not in own]

    @method_decorator(login_not_required)
    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Send people to the one sign-in page, with its limits and second factor; not there for others than admins."""
        if self.has_permission(request):
            return redirect("admin:index")
        if request.user.is_authenticated:
            raise Http404
        return redirect_to_login(request.GET.get("next") or reverse("admin:index"))


class ReadOnly(admin.ModelAdmin):  # type: ignore[type-arg]
    """Shows rows; what changes them is the product itself."""

    exclude = ["password"]


class BankView(ReadOnly):
    """A bank's id opens it on the memory server, so it is not shown."""

    exclude = ["bank_id"]


site = PlatformData()
site.register(User, ReadOnly, list_display=["name", "email", "is_platform_admin", "is_lesson_reviewer", "is_active"])
site.register(Team, ReadOnly)
site.register(Membership, ReadOnly, list_display=["user", "team", "role", "left_at"], list_select_related=True)
site.register(Project, ReadOnly, list_display=["key", "name", "team"], list_select_related=True)
site.register(Bank, BankView, list_display=["name", "kind"])
site.register(BankAssignment, ReadOnly, list_display=["bank", "project", "access"], list_select_related=True)
site.register(AuditEvent, ReadOnly, list_display=["chain", "sequence", "at", "act", "object_type", "via"])
