"""Which app answers which address."""

from django.urls import include, path, re_path

from oncall import problems, views
from teams.admin import site as platform_data

urlpatterns = [
    path("healthz", views.healthz, name="healthz"),
    path("readyz", views.readyz, name="readyz"),
    path("accounts/", include("allauth.urls")),
    path("admin/", platform_data.urls),
    path("api/v1/", include("incidents.api.urls")),
    # Only with the slash: without it Django first tries the address that has one.
    re_path(r"^api/.*/$", problems.NoSuchAddress.as_view(), name="api_no_such_address"),
    path("", include("teams.urls")),
    path("", include("incidents.urls")),
]

handler400 = "oncall.views.bad_request"
handler500 = "oncall.views.server_error"
