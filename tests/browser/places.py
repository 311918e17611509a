"""Every page there is, and who opens it: the list that the tests of pages go through."""

from dataclasses import dataclass

# Addresses that answer with something else than a page: a fragment of one, data, a file, or a redirect.
NO_PAGE = {
    "admin:autocomplete",
    "admin:jsi18n",
    "admin:login",
    "admin:view_on_site",
    "api_incident_detail",
    "api_incident_list",
    "api_investigation_detail",
    "api_investigation_list",
    "api_no_such_address",
    "delivery_body",
    "find_results",
    "healthz",
    "incident_live",
    "incident_news",
    "incident_saved",
    "mfa_download_recovery_codes",
    "readyz",
}
# Pages of packages for ways of signing in that are not switched on: each sends on to sign-in or does not exist.
SWITCHED_OFF = {
    "account_confirm_login_code",
    # What is read-only has no page to add, change or delete, and its catch-all finds nothing.
    "admin:(?P<url>.*)$",
    "admin:<path:object_id>/",
}
# The path of a page that only a fault shows: the template's name follows.
DRAWN = "/drawn/"


@dataclass(frozen=True)
class Place:
    """A page in one of its states. ``{…}`` in the path stands for what ``stage.py`` made."""

    name: str
    who: str
    path: str
    case: str = ""
    status: int = 200

    def __str__(self) -> str:
        return "-".join(filter(None, (self.name, self.case, self.who)))


PLACES = [
    # Coming in
    Place("account_login", "nobody", "/accounts/login/"),
    Place("account_signup", "nobody", "/accounts/signup/", "closed"),
    Place("account_signup", "guest", "/accounts/signup/?email=guest@example.org"),
    Place("invitation_accept", "nobody", "{invitation}"),
    Place("invitation_accept", "priya", "{invitation}", "of another address"),
    Place("invitation_accept", "nobody", "/invitations/used-or-replaced/", "used", 410),
    Place("account_reset_password", "nobody", "/accounts/password/reset/"),
    Place("account_reset_password_done", "nobody", "/accounts/password/reset/done/"),
    Place("account_reset_password_from_key", "nobody", "{reset}"),
    Place("account_reset_password_from_key", "nobody", "/accounts/password/reset/key/0-used/", "used"),
    Place("account_reset_password_from_key_done", "nobody", "/accounts/password/reset/key/done/"),
    Place("account_confirm_email", "nobody", "{confirm}"),
    Place("account_confirm_email", "nobody", "/accounts/confirm-email/used/", "used"),
    Place("account_email_verification_sent", "nobody", "/accounts/confirm-email/"),
    Place("account_inactive", "nobody", "/accounts/inactive/"),
    Place("mfa_authenticate", "halfway", "/accounts/2fa/authenticate/"),
    # Oneself
    Place("home", "lucia", "/", "lesson reviewer in no team"),
    Place("home", "robin", "/", "platform admin in no team"),
    Place("home", "otto", "/", "in no team"),
    Place("profile", "priya", "/profile/"),
    Place("account_email", "rosa", "/accounts/email/"),
    Place("account_change_password", "rosa", "/accounts/password/change/"),
    Place("account_set_password", "priya", "/accounts/password/set/"),
    Place("account_logout", "rosa", "/accounts/logout/"),
    Place("account_reauthenticate", "rosa", "/accounts/reauthenticate/"),
    # Who has no password proves themselves by a code.
    Place("account_request_reauthentication_code", "priya", "/accounts/reauthenticate/code/"),
    Place("account_confirm_reauthentication_code", "jonas", "/accounts/reauthenticate/code/confirm/"),
    Place("mfa_index", "rosa", "/accounts/2fa/", "off"),
    Place("mfa_activate_totp", "nina", "/accounts/2fa/totp/activate/"),
    Place("mfa_index", "otto", "/accounts/2fa/", "on"),
    Place("mfa_reauthenticate", "otto", "/accounts/2fa/reauthenticate/"),
    Place("mfa_deactivate_totp", "otto", "/accounts/2fa/totp/deactivate/"),
    Place("mfa_view_recovery_codes", "otto", "/accounts/2fa/recovery-codes/"),
    Place("mfa_generate_recovery_codes", "otto", "/accounts/2fa/recovery-codes/generate/"),
    # Incidents
    Place("incident_list", "priya", "/incidents/"),
    Place("incident_list", "priya", "/incidents/?tab=all", "all"),
    Place("incident_list", "priya", "/incidents/?q=nothing+says+this", "nothing matches"),
    Place("incident_list", "dario", "/incidents/", "none"),
    Place("incident_new", "priya", "/incidents/new/"),
    Place("incident_detail", "priya", "/incidents/SEARCH-15/", "known here"),
    Place("incident_detail", "priya", "/incidents/SEARCH-16/", "seen elsewhere"),
    Place("incident_detail", "priya", "/incidents/SEARCH-17/", "new pattern"),
    Place("incident_detail", "priya", "/incidents/SEARCH-18/", "needs info"),
    Place("incident_detail", "priya", "/incidents/SEARCH-19/", "resolved"),
    Place("incident_detail", "priya", "/incidents/SEARCH-1/", "never investigated"),
    Place("incident_detail", "mei", "/incidents/SEARCH-15/", "as a viewer"),
    Place("incident_detail", "rosa", "{hostile}", "hostile"),
    Place("incident_summary", "priya", "/incidents/SEARCH-15/summary/"),
    Place("incident_correct", "priya", "/incidents/SEARCH-15/correct/"),
    Place("incident_move", "priya", "/incidents/SEARCH-17/move/"),
    Place("attempt_correct", "ines", "{attempt}"),
    Place("step_sent", "priya", "{step}"),
    # Fixes
    Place("fix_list", "priya", "/fixes/"),
    Place("fix_list", "dario", "/fixes/", "none"),
    Place("fix_detail", "priya", "{fix}"),
    Place("fix_detail", "mei", "{fix}", "as a viewer"),
    # Everywhere
    Place("find", "priya", "/find/"),
    Place("find", "priya", "/find/?q=pool", "found"),
    Place("help", "priya", "/help/"),
    # Memory
    Place("memory_list", "priya", "/memory/"),
    Place("memory_list", "dario", "/memory/", "empty"),
    Place("memory_detail", "ines", "{record}"),
    Place("memory_forget", "ines", "{record}forget/"),
    # Teams
    Place("team_detail", "ines", "/teams/discovery/"),
    Place("team_detail", "mei", "/teams/discovery/", "as a viewer"),
    Place("member_remove", "ines", "{member}remove/"),
    Place("project_settings", "ines", "/projects/SEARCH/settings/"),
    Place("project_settings", "mei", "/projects/SEARCH/settings/", "as a viewer"),
    # Platform data
    Place("admin:index", "robin", "/admin/"),
    Place("admin:app_list", "robin", "/admin/teams/"),
    Place("admin:teams_team_changelist", "robin", "/admin/teams/team/"),
    Place("admin:teams_team_change", "robin", "{team}"),
    Place("admin:teams_team_history", "robin", "{history}"),
    # What went wrong
    Place("404", "nobody", "/no-such-page", status=404),
    Place("404", "priya", "/incidents/SEARCH-99/", status=404),
    Place("403", "mei", "{record}forget/", status=403),
    Place("400", "nobody", DRAWN + "400.html", status=400),
    Place("403_csrf", "nobody", DRAWN + "403_csrf.html", status=403),
    Place("signed_out", "nobody", DRAWN + "signed_out.html", status=403),
    Place("413", "nobody", DRAWN + "413.html", status=413),
    Place("429", "nobody", DRAWN + "429.html", status=429),
    Place("500", "nobody", DRAWN + "500.html", status=500),
]
