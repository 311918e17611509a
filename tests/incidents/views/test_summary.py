"""The summary for a chat: plain lines that say what matters and do no harm there."""

import html
import re

import pytest

from incidents.models import Incident
from incidents.services import diagnosing, investigations
from tests import factories
from tests.conftest import World
from tests.incidents.views.test_acts import as_person


def text_of(world: World, incident: Incident) -> str:
    page = as_person(world.viewer).get(f"{incident.get_absolute_url()}summary/").content.decode()
    found = re.search(r'<pre[^>]* id="summary"[^>]*>(.*?)</pre>', page, re.S)
    assert found
    return html.unescape(found[1])


def test_it_has_number_verdict_next_action_who_and_link(world: World) -> None:
    known = factories.make_incident(project=world.project, by=world.responder)
    factories.resolve(incident=known, by=world.responder)
    incident = factories.make_incident(project=world.project, by=world.responder)
    run = investigations.start(incident=incident, by=world.responder)
    for diagnosis in run.diagnoses.all():
        diagnosing.run_diagnosis(diagnosis.pk)

    lines = text_of(world, incident).splitlines()

    assert lines[0].startswith("SEARCH-2 ")
    assert lines[-2:] == ["Who: nobody yet", "http://testserver/incidents/SEARCH-2/"]
    assert any(line.startswith("Next: ") for line in lines)


@pytest.mark.parametrize(
    ("title", "shown"),
    [
        ("@channel disk full", "＠channel disk full"),
        ("disk\u202e full\u200b", "disk full"),
        ("mail me@here.example.com", "mail me＠here.example.com"),
    ],
)
def test_a_title_calls_nobody_and_hides_nothing(world: World, title: str, shown: str) -> None:
    incident = factories.make_incident(project=world.project, by=world.responder, title=title)

    assert text_of(world, incident).splitlines()[0] == f"SEARCH-1 {shown}"


def test_it_stands_on_the_page_for_the_button_to_copy(world: World) -> None:
    incident = factories.make_incident(project=world.project, by=world.responder)

    page = as_person(world.viewer).get(incident.get_absolute_url()).content.decode()

    assert '<pre id="summary" hidden>SEARCH-1 ' in page
    assert 'data-copy-from="summary"' in page
