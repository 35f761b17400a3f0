"""Fakes behind the REST service and the command line."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from rest_fakes import FakeService, FakeServices, FakeTokens
from served import serve_app

from watchfloor.api.cli.commands import events as query_command
from watchfloor.api.cli.reading import ask
from watchfloor.api.rest.app import create_app
from watchfloor.api.rest.base.limits import RestLimits

LIMITS = RestLimits(queries=2, queries_per_token=2, wait_seconds=1.5, stalled_seconds=2)


@pytest.fixture
def service() -> FakeService:
    return FakeService()


@pytest.fixture
def services(service: FakeService) -> FakeServices:
    return FakeServices(service)


@pytest.fixture
def app(services: FakeServices) -> Flask:
    return create_app(services, FakeTokens(), LIMITS)


@pytest.fixture
def port(app: Flask) -> Iterator[int]:
    """A real server's port."""
    with serve_app(app, LIMITS) as port:
        yield port


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    return app.test_client()


@pytest.fixture
def fake_store(service: FakeService, monkeypatch: pytest.MonkeyPatch) -> None:
    """Puts the fake service behind the commands ``query``, ``count``, ``top`` and ``timeline``."""

    @contextmanager
    def open_service(args: argparse.Namespace) -> Iterator[Any]:
        yield service

    monkeypatch.setattr(query_command, "open_service", open_service)
    monkeypatch.setattr(ask, "open_service", open_service)
