"""What a small API of its own answers through the handler."""

from typing import Any

import pytest
from django.core.exceptions import PermissionDenied, RequestDataTooBig
from django.core.exceptions import ValidationError as FieldsNotValid
from django.http import Http404
from rest_framework import exceptions, serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.test import APIRequestFactory
from rest_framework.views import APIView

from oncall.parsers import JSONBody
from oncall.problems import Problem


class Alert(serializers.Serializer):  # type: ignore[type-arg]
    class Metric(serializers.Serializer):  # type: ignore[type-arg]
        value = serializers.IntegerField(max_value=9)

    title = serializers.CharField(max_length=5)
    metrics = Metric(many=True, required=False)


class Small(APIView):
    """Raises what it is given; a POST reads an Alert."""

    authentication_classes: list[Any] = []
    permission_classes: list[Any] = []
    parser_classes = [JSONBody]
    error: Exception | None = None

    def get(self, request: Request) -> Response:
        assert self.error is not None
        raise self.error

    def post(self, request: Request) -> Response:
        Alert(data=request.data).is_valid(raise_exception=True)
        return Response({})


def raised(error: Exception) -> Response:
    response: Any = Small.as_view(error=error)(APIRequestFactory().get("/"))
    return response.render()  # type: ignore[no-any-return]


def posted(body: str | bytes, content_type: str = "application/json") -> Response:
    response: Any = Small.as_view()(APIRequestFactory().generic("POST", "/", body, content_type=content_type))
    return response.render()  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (Http404("Incident 7 of PAY"), 404, "not_found"),
        (exceptions.NotFound(), 404, "not_found"),
        (PermissionDenied("incident.work"), 403, "not_allowed"),
        (exceptions.PermissionDenied(), 403, "not_allowed"),
        (exceptions.MethodNotAllowed("PUT"), 405, "method_not_allowed"),
        (exceptions.NotAcceptable(), 406, "not_acceptable"),
        (exceptions.ParseError("JSON parse error"), 400, "bad_request"),
        (exceptions.UnsupportedMediaType("text/plain"), 415, "unsupported_media_type"),
        (exceptions.Throttled(wait=7), 429, "too_many_requests"),
        (RequestDataTooBig(), 413, "too_large"),
        (Problem(409, "already_answered", "Jonas answered this at 02:27."), 409, "already_answered"),
    ],
)
def test_error_is_a_problem_with_a_stable_code(error: Exception, status: int, code: str) -> None:
    answer = raised(error)

    assert (answer.status_code, answer.headers["Content-Type"]) == (status, "application/problem+json")
    assert answer.data["status"] == status
    assert answer.data["code"] == code
    assert answer.data["type"] == "about:blank"
    assert answer.data["title"]


def test_what_is_not_yours_says_nothing_about_it() -> None:
    answer = raised(Http404("Incident 7 of PAY"))

    assert answer.data == raised(Http404("No such incident")).data
    assert b"PAY" not in answer.content


def test_throttled_says_when_to_come_back() -> None:
    assert raised(exceptions.Throttled(wait=7)).headers["Retry-After"] == "7"


def test_problem_of_a_field_names_it() -> None:
    answer = raised(Problem(413, "too_large", "An alert has at most 1,000,000 bytes.", field="body"))

    assert answer.data["detail"] == "An alert has at most 1,000,000 bytes."
    assert answer.data["errors"] == [
        {"field": "body", "detail": "An alert has at most 1,000,000 bytes.", "code": "too_large"}
    ]


def test_invalid_fields_are_each_named_with_a_code() -> None:
    answer = posted('{"title": "too long", "metrics": [{"value": 1}, {"value": 10}]}')

    assert (answer.status_code, answer.data["code"]) == (400, "invalid")
    assert {(error["field"], error["code"]) for error in answer.data["errors"]} == {
        ("title", "max_length"),
        ("metrics.1.value", "max_value"),
    }


def test_missing_field_is_named() -> None:
    assert [(e["field"], e["code"]) for e in posted("{}").data["errors"]] == [("title", "required")]


def test_error_of_the_whole_body_has_no_field() -> None:
    assert [error["field"] for error in posted("[1]").data["errors"]] == [""]


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (FieldsNotValid({"key": ["This key was given before."]}), [("key", "This key was given before.")]),
        (FieldsNotValid("Not like this."), [("", "Not like this.")]),
        (FieldsNotValid({"__all__": ["Not together."]}), [("", "Not together.")]),
    ],
)
def test_refusal_of_a_model_is_a_problem_too(error: Exception, expected: list[tuple[str, str]]) -> None:
    answer = raised(error)

    assert answer.status_code == 400
    assert [(error["field"], error["detail"]) for error in answer.data["errors"]] == expected


@pytest.mark.parametrize(
    "body",
    [
        "{",
        "nonsense",
        b"\xff\xfe",
        '{"title": NaN}',
        "[" * 20_000 + "]" * 20_000,
        '{"title": ' + "1" * 5000 + "}",
        '{"a": [{"b": 1e309}]}',
    ],
    ids=["cut", "no JSON", "no UTF-8", "NaN", "deep", "long number", "endless number"],
)
def test_body_that_cannot_be_read_is_a_bad_request(body: str | bytes) -> None:
    answer = posted(body)

    assert (answer.status_code, answer.data["code"]) == (400, "bad_request")


def test_other_content_type_is_refused() -> None:
    assert posted("title=x", "application/x-www-form-urlencoded").data["code"] == "unsupported_media_type"


def test_mistake_of_ours_is_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError):
        raised(ZeroDivisionError())
