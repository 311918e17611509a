"""Where a person lands, who they are, and how they come in."""

from allauth.account.internal.flows.login import Login, perform_login
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from teams import access, services
from teams.adapters import SESSION_KEY
from teams.context import demo_people
from teams.forms import ProfileForm
from teams.models import User


@require_GET
def home(request: HttpRequest) -> HttpResponse:
    """Go to the incidents; somebody in no team gets a page that says what to do."""
    if access.roles(request.user):
        return redirect("incident_list")
    return render(request, "teams/no_team.html")


@login_not_required
@require_POST
def demo_login(request: HttpRequest) -> HttpResponse:
    """Sign in as an example person without a password: in the local profile only, and as nobody else."""
    email = request.POST.get("email", "")
    if email not in {person["email"] for person in demo_people()}:
        raise Http404
    user = User.objects.get(email=email)
    target = _safe(request, request.POST.get("next", "")) or "/"
    return perform_login(request, Login(user=user, redirect_url=target))


@require_http_methods(["GET", "POST"])
def profile(request: HttpRequest) -> HttpResponse:
    """Show and change what a person may change of themselves."""
    form = ProfileForm(request.POST or None, instance=User.objects.get(pk=request.user.pk))
    if request.method == "POST" and form.is_valid():
        services.update_profile(user=request.user, **form.cleaned_data)
        messages.success(request, "Saved.")
        return redirect("profile")
    return render(request, "teams/profile.html", {"form": form}, status=400 if form.errors else 200)


@require_POST
def theme(request: HttpRequest) -> HttpResponse:
    """Change the theme from the frame's button."""
    chosen = request.POST.get("theme", "")
    user = request.user
    if chosen in User.Theme.values:
        services.update_profile(
            user=user, name=user.name, time_zone=user.time_zone, theme=chosen, shortcuts_on=user.shortcuts_on
        )
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
        request.session[SESSION_KEY] = secret
        known = User.objects.filter(email=invitation.email).exists()
        back = request.get_full_path()
        return redirect(f"/accounts/login/?next={back}" if known else "account_signup")
    return render(request, "teams/invitation_accept.html", {"invitation": invitation})


def _safe(request: HttpRequest, target: str) -> str:
    """Return the target if it stays on this host."""
    allowed = url_has_allowed_host_and_scheme(target, {request.get_host()}, require_https=request.is_secure())
    return target if allowed else ""
