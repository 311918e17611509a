"""What the API answers when it refuses: problem details (RFC 9457) with a stable code, naming the field."""

from collections.abc import Iterator
from typing import Any

from django.core.exceptions import PermissionDenied, RequestDataTooBig
from django.core.exceptions import ValidationError as FieldsNotValid
from django.http import Http404
from rest_framework import exceptions, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView, exception_handler

_TITLES = {
    400: ("bad_request", "The request cannot be understood."),
    401: ("not_authenticated", "The request does not say who sends it, or not well enough."),
    403: ("not_allowed", "You can see this, and changing it needs another role or scope."),
    404: ("not_found", "There is nothing here for you."),
    405: ("method_not_allowed", "This address does not take this method."),
    406: ("not_acceptable", "This API answers in JSON."),
    409: ("conflict", "Somebody was quicker."),
    413: ("too_large", "The body is too large."),
    415: ("unsupported_media_type", "This address does not take this content type."),
    429: ("too_many_requests", "Too many requests."),
}


# What Django and the API framework call errors that belong to no field.
_WHOLE = ("", "__all__", "non_field_errors")


class Problem(exceptions.APIException):
    """A refusal of ours: a status, a stable code, a sentence, and the field that is wrong, if it is one."""

    def __init__(self, status_code: int, code: str, detail: str, field: str | None = None) -> None:
        super().__init__(detail, code)
        self.status_code = status_code
        self.code = code
        self.field = field


class NoSuchAddress(APIView):
    """Answers for every address under ``/api/`` that means nothing, so that a program gets no HTML there."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Refuse whatever the method, once the caller has said who they are."""
        super().initial(request, *args, **kwargs)
        raise Http404


def handler(error: Exception, context: dict[str, Any]) -> Response | None:
    """Return the problem for an error of the framework or of ours; None leaves it to be a 500."""
    translated = _translate(error)
    response = exception_handler(translated, context)
    if response is None:
        return None
    response.data = _problem(translated, response)
    response.content_type = "application/problem+json"
    return response


def _translate(error: Exception) -> Exception:
    if isinstance(error, RequestDataTooBig):
        return Problem(status.HTTP_413_REQUEST_ENTITY_TOO_LARGE, "too_large", "The body is too large.")
    if isinstance(error, FieldsNotValid):
        return exceptions.ValidationError(error.message_dict if hasattr(error, "error_dict") else {"": error.messages})
    return error


def _problem(error: Exception, response: Response) -> dict[str, Any]:
    code, title = _TITLES.get(response.status_code, ("error", "The request was refused."))
    problem: dict[str, Any] = {"type": "about:blank", "title": title, "status": response.status_code, "code": code}
    if isinstance(error, Problem):
        problem |= {"code": error.code, "detail": str(error.detail)}
        if error.field:
            problem["errors"] = [{"field": error.field, "detail": str(error.detail), "code": error.code}]
    elif isinstance(error, exceptions.ValidationError):
        errors = list(_field_errors(error.detail))
        problem |= {"code": "invalid", "detail": "Some fields are not valid.", "errors": errors}
    elif isinstance(error, Http404 | PermissionDenied):
        pass  # the title says all that may be said
    elif isinstance(error, exceptions.APIException):
        problem["detail"] = str(error.detail)
    return problem


def _field_errors(detail: Any, field: str = "") -> Iterator[dict[str, str]]:
    """Return each error with its field as a path, ``metrics.1.value``; empty for the body as a whole."""
    if isinstance(detail, dict):
        for name, inner in detail.items():
            path = [field] if name in _WHOLE else [field, str(name)]
            yield from _field_errors(inner, ".".join(part for part in path if part))
    elif isinstance(detail, list):
        for inner in detail:
            yield from _field_errors(inner, field)
    else:
        yield {"field": field, "detail": str(detail), "code": getattr(detail, "code", "invalid")}
