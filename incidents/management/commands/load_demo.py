"""Load the example data, through the same services that people use, so that memory is really filled."""

from argparse import ArgumentParser
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from incidents.demo.cases import CASES, JUST_RESOLVED, OPEN, Case
from incidents.demo.people import PEOPLE, PROJECTS, TEAMS, Person
from incidents.models import Delivery, Diagnosis, Evidence, Fix, Incident, MemoryRecord
from incidents.services import attempts, deliveries, diagnosing, incidents, investigations, memory, outcomes
from teams import services
from teams.models import Project, Team, User


class Command(BaseCommand):
    """Idempotent: does nothing once there is a team."""

    help = "Load the example data (local profile only)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """``--list-people`` prints who can sign in and loads nothing."""
        parser.add_argument("--list-people", action="store_true", help="print the example people and stop")

    def handle(self, *args: Any, **options: Any) -> None:
        """Raises CommandError outside the local profile."""
        if not settings.LOCAL:
            raise CommandError("Example data is for the local profile only (ONCALL_PROFILE=local).")
        if not options["list_people"]:
            if Team.objects.exists():
                self.stdout.write("There are teams already; no example data was loaded.")
                return
            self.stdout.write("Loading the example data …")
            Loader().load()
        for person in PEOPLE:
            if person.signs_in:
                self.stdout.write(f"  {person.name:<20} {person.email:<22} {_role(person)}")


def _role(person: Person) -> str:
    if person.is_platform_admin:
        return "platform admin"
    if person.is_lesson_reviewer:
        return "lesson reviewer"
    return ", ".join(f"{role} in {team}" for team, role in person.teams)


class Loader:
    """Holds what the cases refer to by name. Times are counted back from now."""

    def __init__(self) -> None:
        self.now = timezone.now()
        self.people: dict[str, User] = {}
        self.projects: dict[str, Project] = {}
        self.fixes: dict[tuple[str, str], Fix] = {}

    def load(self) -> None:
        """Make everything, fill the banks, and investigate what is open."""
        self._people_and_projects()
        for case in sorted(CASES, key=lambda case: -case.days_ago):
            self._resolved(case)
        self._leave()
        self._fill_memory()
        for case in OPEN:
            self._investigated(case)
        self._just_resolved()
        self._fill_memory()

    def _people_and_projects(self) -> None:
        for person in PEOPLE:
            user = services.create_user(
                email=person.email,
                name=person.name,
                by=None,
                is_platform_admin=person.is_platform_admin,
                is_lesson_reviewer=person.is_lesson_reviewer,
            )
            User.objects.filter(pk=user.pk).update(time_zone="Europe/Berlin")
            self.people[person.key] = user
        teams = {slug: services.create_team(name=name, slug=slug, by=None) for slug, name in TEAMS}
        for person in PEOPLE:
            for slug, role in person.teams:
                services.add_member(team=teams[slug], user=self.people[person.key], role=role, by=None)
        for demo in PROJECTS:
            project = services.create_project(team=teams[demo.team], key=demo.key, name=demo.name, by=None)
            Project.objects.filter(pk=project.pk).update(
                escalation_contact=demo.escalation_contact, time_zone="Europe/Berlin"
            )
            for name, aliases in demo.services:
                services.create_service(project=project, name=name, aliases=aliases, by=None)
            self.projects[demo.key] = Project.objects.get(pk=project.pk)
        # The two projects of one team read each other's memory: that is what "seen elsewhere" shows.
        for reader, owner in (("SEARCH", "CAT"), ("CAT", "SEARCH")):
            services.share_memory(reader=self.projects[reader], owner=self.projects[owner], by=None)

    def _leave(self) -> None:
        teams = {team.slug: team for team in Team.objects.all()}
        for person in PEOPLE:
            for slug in person.left:
                services.remove_member(team=teams[slug], user=self.people[person.key], by=self.people["ines"])

    def _open(self, case: Case, by: User) -> tuple[Incident, datetime]:
        at = self.now - timedelta(days=case.days_ago)
        if case.hour:
            at = at.replace(hour=case.hour, minute=14, second=9)
        delivery = deliveries.receive(
            project=self.projects[case.project],
            body=case.alert.encode(),
            content_type="text/plain; charset=utf-8",
            source=Delivery.Source.PASTE,
            by=by,
            at=at,
        )
        if delivery.incident is None:
            raise CommandError(f"The example alert of {case.project}, {case.days_ago} days ago, opened no incident.")
        return delivery.incident, at

    def _resolved(self, case: Case) -> None:
        if case.fixed is None:
            raise CommandError("A resolved example needs its fix.")
        resolver = self.people[case.fixed.by]
        incident, at = self._open(case, resolver)
        incidents.acknowledge(incident=incident, by=resolver, at=at + timedelta(minutes=2))
        for tried in case.tried:
            attempts.record_attempt(
                incident=incident,
                by=self.people[tried.by],
                what_happened=tried.what_happened,
                at=at + timedelta(minutes=tried.after_minutes),
                **self._fix(case.project, tried.fix),
            )
        outcomes.record_outcome(
            incident=incident,
            by=resolver,
            root_cause=case.fixed.root_cause,
            what_was_done=case.fixed.what_was_done,
            minutes=case.fixed.minutes,
            command=case.fixed.command,
            runbook_title=case.fixed.runbook[0],
            runbook_url=case.fixed.runbook[1],
            at=at + timedelta(minutes=case.fixed.minutes),
            **self._fix(case.project, case.fixed.fix),
        )

    def _fix(self, project: str, title: str) -> dict[str, Any]:
        known = Fix.objects.filter(project=self.projects[project], title=title).first()
        return {"fix": known} if known else {"fix": None, "new_fix_title": title}

    def _investigated(self, case: Case) -> Incident:
        incident, _ = self._open(case, self.people["priya"])
        investigation = investigations.start(incident=incident, by=self.people["priya"])
        for diagnosis in investigation.diagnoses.order_by("pk"):
            diagnosing.run_diagnosis(diagnosis.pk)
        incident.refresh_from_db()
        return incident

    def _just_resolved(self) -> None:
        incident = self._investigated(JUST_RESOLVED)
        cited = Evidence.objects.filter(
            diagnosis__investigation=incident.latest_investigation,
            diagnosis__kind=Diagnosis.Kind.WITH_MEMORY,
            accepted=True,
            scope=Evidence.Scope.OWN,
        ).first()
        if cited is None:
            raise CommandError("The example that was just resolved found nothing in memory to confirm.")
        incidents.acknowledge(incident=incident, by=self.people["jonas"])
        outcomes.confirm_fix_worked_again(
            incident=incident,
            record=cited.record,
            by=self.people["jonas"],
            answers_diagnosis=cited.diagnosis,
        )

    def _fill_memory(self) -> None:
        for record in MemoryRecord.objects.filter(state=MemoryRecord.State.QUEUED).order_by("pk"):
            memory.sync_record(record.pk)
