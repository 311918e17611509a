"""Pages of a list, newest first. Each row that was there at the first page comes once, whatever arrives meanwhile."""

import uuid

from django.db.models import QuerySet
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.utils.urls import replace_query_param

from incidents.models import Incident

PAGE_SIZE, MAX_PAGE_SIZE = 50, 200


def page_of(
    incidents: QuerySet[Incident], request: Request, *, within: QuerySet[Incident]
) -> tuple[list[Incident], str | None]:
    """Return the rows of the page that ``cursor`` and ``page_size`` ask for, and the address of the next one.

    A cursor is the id of the last incident of the page before: times may be equal, and primary keys stay inside. It is
    looked for ``within`` what the caller may see, as it may not match the list's filter any more.

    Raises:
        ValidationError: the cursor is none of this list, or the size is no whole number above zero.
    """
    size = _size(request.query_params.get("page_size"))
    cursor = request.query_params.get("cursor")
    rows = incidents.filter(pk__lt=_place(within, cursor)) if cursor is not None else incidents
    found = list(rows.order_by("-pk")[: size + 1])
    if len(found) <= size:
        return found, None
    last = found[size - 1]
    return found[:size], replace_query_param(request.build_absolute_uri(), "cursor", str(last.public_id))


def _size(asked: str | None) -> int:
    if asked is None:
        return PAGE_SIZE
    if not (asked.isascii() and asked.isdigit() and asked.strip("0")):
        raise ValidationError({"page_size": f"A whole number from 1 to {MAX_PAGE_SIZE}."})
    return min(int(asked), MAX_PAGE_SIZE) if len(asked) < 10 else MAX_PAGE_SIZE


def _place(incidents: QuerySet[Incident], cursor: str) -> int:
    try:
        return incidents.values_list("pk", flat=True).get(public_id=uuid.UUID(cursor))
    except (ValueError, Incident.DoesNotExist):
        raise ValidationError({"cursor": "This is no cursor of this list."}) from None
