"""Where a person lands, who they are, and how they come in."""

from allauth.account.internal.flows.login import Login, perform_login
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import BadRequest
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme, urlencode
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from teams import access, entrance, services
from teams.forms import ProfileForm
from teams.models import User
from teams.requests import PersonRequest


@require_GET
def home(request: PersonRequest) -> HttpResponse:
    """Go to the incidents; somebody in no team gets a page that says what to do."""
    if access.roles(request.user):
        return redirect("incident_list")
    return render(request, "teams/no_team.html")


@login_not_required
@require_POST
def demo_login(request: HttpRequest) -> HttpResponse:
    """Sign in as an example person without a password: in the local profile only, and as nobody else."""
    email = request.POST.get("email", "")
    if email not in {person["email"] for person in entrance.demo_people()}:
        raise Http404
    user = User.objects.get(email=email)
    target = _safe(request, request.POST.get("next", "")) or "/"
    return perform_login(request, Login(user=user, redirect_url=target))


@require_http_methods(["GET", "POST"])
def profile(request: PersonRequest) -> HttpResponse:
    """Show and change what a person may change of themselves."""
    # A copy: a form writes what was typed to its instance, and the frame shows the person as they are.
    person = User.objects.get(pk=request.user.pk)
    form = ProfileForm(request.POST, instance=person) if request.method == "POST" else ProfileForm(instance=person)
    if form.is_valid():
        services.update_profile(user=request.user, **form.cleaned_data)
        messages.success(request, "Saved.")
        return redirect("profile")
    return render(request, "teams/profile.html", {"form": form}, status=400 if form.errors else 200)


@require_POST
def theme(request: PersonRequest) -> HttpResponse:
    """Change the theme from the frame's button."""
    chosen = request.POST.get("theme", "")
    if chosen not in User.Theme.values:
        raise BadRequest("There is no such theme.")
    services.update_profile(user=request.user, theme=chosen)
    return redirect(_safe(request, request.POST.get("next", "")) or "/")


@login_not_required
@never_cache
@sensitive_variables("secret")
@require_http_methods(["GET", "POST"])
def invitation_accept(request: HttpRequest, secret: str) -> HttpResponse:
    """Show an invitation; joining is a POST, because mail scanners open links."""
    try:
        invitation = services.find_invitation(secret)
        if request.method == "POST" and request.user.is_authenticated:
            services.accept_invitation(secret=secret, user=request.user)
            messages.success(request, f"You joined {invitation.team}.")
            return redirect("home")
    except services.InvitationProblem as problem:
        return render(request, "teams/invitation_problem.html", {"problem": str(problem)}, status=410)
    if request.method == "POST":
        entrance.remember_invitation(request, secret)
        if User.objects.filter(email=invitation.email).exists():
            return redirect_to_login(request.get_full_path())
        services.free_address(invitation.email)
        return redirect(f"{reverse('account_signup')}?{urlencode({'email': invitation.email})}")
    return render(request, "teams/invitation_accept.html", {"invitation": invitation})


def _safe(request: HttpRequest, target: str) -> str:
    """Return the target if it stays on this host."""
    allowed = url_has_allowed_host_and_scheme(target, {request.get_host()}, require_https=request.is_secure())
    return target if allowed else ""
