"""What the words and the keys mean."""

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from teams.requests import PersonRequest


@require_GET
def help_page(request: PersonRequest) -> HttpResponse:
    """Show what patterns, confidence, memory's words, the gate's words and the keys mean."""
    return render(request, "incidents/help.html")
