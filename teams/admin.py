"""Django's admin: read-only, for platform admins, and without anybody's incidents."""

from django.contrib import admin

from teams.models import AuditEvent, Bank, BankAssignment, Membership, Project, Team, User

admin.site.site_header = admin.site.site_title = "On-Call Copilot, platform data"


class ReadOnly(admin.ModelAdmin):  # type: ignore[type-arg]
    """Shows rows; what changes them is the product itself."""

    exclude = ["password"]


class BankView(ReadOnly):
    """A bank's id opens it on the memory server, so it is not shown."""

    exclude = ["bank_id"]


admin.site.register([User, Team, Membership, Project, BankAssignment, AuditEvent], ReadOnly)
admin.site.register(Bank, BankView)
