"""The pages of people and teams."""

from django.urls import path

from teams.views import accounts, projects, teams

urlpatterns = [
    path("", accounts.home, name="home"),
    path("accounts/demo/", accounts.demo_login, name="demo_login"),
    path("profile/", accounts.profile, name="profile"),
    path("profile/theme/", accounts.theme, name="theme"),
    path("invitations/<str:secret>/", accounts.invitation_accept, name="invitation_accept"),
    path("teams/<slug:slug>/", teams.team_detail, name="team_detail"),
    path("teams/<slug:slug>/members/<uuid:person>/", teams.member_change, name="member_change"),
    path("teams/<slug:slug>/members/<uuid:person>/remove/", teams.member_remove, name="member_remove"),
    path("teams/<slug:slug>/invitations/", teams.invitation_create, name="invitation_create"),
    path("teams/<slug:slug>/invitations/<uuid:invitation>/revoke/", teams.invitation_revoke, name="invitation_revoke"),
    path("teams/<slug:slug>/projects/", teams.project_create, name="project_create"),
    path("projects/<str:key>/settings/", projects.project_settings, name="project_settings"),
    path("projects/<str:key>/lessons/", projects.project_lessons, name="project_lessons"),
    path("projects/<str:key>/services/", projects.service_create, name="service_create"),
    path("projects/<str:key>/services/<uuid:service>/", projects.service_change, name="service_change"),
    path("projects/<str:key>/keys/", projects.key_create, name="key_create"),
    path("projects/<str:key>/keys/<str:key_id>/revoke/", projects.key_revoke, name="key_revoke"),
]
