"""Which app answers which address."""

from allauth.account.decorators import secure_admin_login
from django.contrib import admin
from django.urls import include, path

from oncall import views

# Sign-in has one door, with its limits and second factor.
admin.autodiscover()
admin.site.login = secure_admin_login(admin.site.login)  # type: ignore[method-assign]

urlpatterns = [
    path("healthz", views.healthz, name="healthz"),
    path("readyz", views.readyz, name="readyz"),
    path("accounts/", include("allauth.urls")),
    path("admin/", admin.site.urls),
    path("api/v1/", include("incidents.api.urls")),
    path("", include("teams.urls")),
    path("", include("incidents.urls")),
]

handler400 = "oncall.views.bad_request"
handler500 = "oncall.views.server_error"
