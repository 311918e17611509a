"""Whatever came in as an alert, every page and address that shows it answers."""

from typing import Any

from incidents.models import Incident
from incidents.services import deliveries
from tests import factories
from tests.conftest import World
from tests.incidents.services.test_deliveries import HOSTILE


def test_pages_and_api_show_every_hostile_alert(world: World, signed_in: Any) -> None:
    for body in HOSTILE.values():
        deliveries.receive(project=world.project, body=body, content_type="", source="api")
    client = signed_in(world.viewer)

    for url in ("/incidents/", "/api/v1/incidents/", "/incidents/?q=%00"):
        assert client.get(url).status_code == 200
    for incident in Incident.objects.select_related("project"):
        for url in (incident.get_absolute_url(), f"/api/v1/incidents/{incident.ref}/"):
            assert client.get(url).status_code == 200


def test_the_raw_body_is_shown_from_every_incident_that_it_opened(world: World, signed_in: Any) -> None:
    body = b'{"alerts": [{"title": "Disk full"}, {"title": "CPU high"}, {"title": "CPU high"}]}'
    delivery = deliveries.receive(project=world.project, body=body, content_type="", source="api")
    other = factories.make_incident(project=world.project, by=world.responder)

    found = [
        signed_in(world.viewer).get(f"{incident.get_absolute_url()}delivery/{delivery.public_id}/")
        for incident in Incident.objects.order_by("number").select_related("project")
    ]

    assert [answer.status_code for answer in found] == [200, 200, 404]
    assert found[1].content == body
    assert other.number == 3


def test_the_incident_page_says_what_was_not_understood(world: World, signed_in: Any) -> None:
    deliveries.receive(project=world.project, body=b'{"title": "caf\xe9"}', content_type="", source="api")
    deliveries.receive(project=world.project, body=b'{"title": "cut', content_type="", source="api")
    client = signed_in(world.viewer)

    assert b"Some bytes were no UTF-8" in client.get("/incidents/SEARCH-1/").content
    assert b"The body is not valid JSON. It is kept as text." in client.get("/incidents/SEARCH-2/").content
