"""Run a function in a forked process, as a prefork worker does, with database connections of its own."""

import multiprocessing
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.db import connections


@contextmanager
def forked(function: Callable[[], None]) -> Iterator[None]:
    """Run the function in a child meanwhile; at the end wait for it, and fail if it raised.

    The test needs ``django_db(transaction=True)``: the child sees only what is committed.
    """
    connections.close_all()  # a connection must not be shared across a fork
    child = multiprocessing.get_context("fork").Process(target=function, daemon=True)
    child.start()
    try:
        yield
    finally:
        child.join(timeout=60)
        child.kill()
    assert child.exitcode == 0
