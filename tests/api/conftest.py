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

from watchfloor.api.cli.commands import counts
from watchfloor.api.cli.commands import events as query_command
from watchfloor.api.rest.app import create_app


@pytest.fixture
def service() -> FakeService:
    return FakeService()


@pytest.fixture
def services(service: FakeService) -> FakeServices:
    return FakeServices(service)


@pytest.fixture
def app(services: FakeServices) -> Flask:
    return create_app(services, FakeTokens(), max_queries=2)


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
    monkeypatch.setattr(counts, "open_service", open_service)
