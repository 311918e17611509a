"""What the accounts' adapter does where two browsers race; the flow itself is in ``views/test_accounts.py``."""

from types import SimpleNamespace

import pytest
from allauth.core.exceptions import ImmediateHttpResponse
from django.test import RequestFactory

from teams import entrance, services
from teams.adapters import AccountAdapter
from teams.models import Membership, User
from tests import factories
from tests.conftest import World


def test_account_is_not_made_when_another_browser_used_the_link(world: World, rf: RequestFactory) -> None:
    _, secret = services.invite(team=world.team, email="new@example.org", role="viewer", by=world.admin)
    services.accept_invitation(secret=secret, user=factories.make_user(email="new@example.org"))
    User.objects.filter(email="new@example.org").update(email="moved@example.org")
    request = rf.post("/accounts/signup/")
    request.session = {}  # type: ignore[assignment]
    entrance.remember_invitation(request, secret)
    before = User.objects.count(), Membership.objects.count()
    form = SimpleNamespace(cleaned_data={"name": "Late", "email": "new@example.org", "password1": "four plain words"})

    with pytest.raises(ImmediateHttpResponse) as refused:
        AccountAdapter(request).save_user(request, User(), form)

    assert refused.value.response.headers["Location"] == f"/invitations/{secret}/"
    assert (User.objects.count(), Membership.objects.count()) == before
