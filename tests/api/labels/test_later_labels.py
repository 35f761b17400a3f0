"""A label that no source has yet shows nothing; once a source has it, its holders see the source without a restart.

In `make test`: it is short, on the stack of the run.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from ingest_support import RUN
from loaded import batch_of, write

from watchfloor.api.rest.app import create_app
from watchfloor.api.rest.store_services import StoreServices
from watchfloor.api.tokens.token_file import TokenFile
from watchfloor.api.tokens.tokens_in_force import TokensInForce
from watchfloor.schema.definition import parse_definition
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.store import Store

pytestmark = pytest.mark.stack

LABEL, NAME = f"later{RUN}", f"later{RUN}.events"
HOLDERS = {"holder": [LABEL, f"never{RUN}"], "all": None, "another": [f"never{RUN}"]}


@pytest.fixture
def client(store_settings: Settings, tmp_path: Path) -> Iterator[FlaskClient]:
    services = StoreServices(store_settings)
    TokenFile(tmp_path).make_first()
    yield create_app(services, TokensInForce(tmp_path)).test_client()
    services.close()


def test_a_label_works_when_a_source_gets_it(client: FlaskClient, store_settings: Settings, tmp_path: Path) -> None:
    file = TokenFile(tmp_path)
    tokens = {name: file.create_token(name, "analyst", labels, None) for name, labels in HOLDERS.items()}

    def count(holder: str) -> int | None:
        headers = {"Authorization": f"Bearer {tokens[holder]}"}
        assert client.get("/api/v1/sources", headers=headers).status_code == 200
        answer = client.get(f"/api/v1/count?source={NAME}", headers=headers)
        assert answer.status_code in (200, 404), answer.text
        return answer.json["count"] if answer.status_code == 200 else None

    assert [count(holder) for holder in HOLDERS] == [None, None, None]
    fields = [{"name": "ts", "type": "time"}, {"name": "n", "type": "int"}]
    definition = {"name": NAME, "parser": {"format": "json"}, "timestamp": {"field": "ts"}, "shards": 1}
    with Store.open(store_settings) as store, store.sink() as sink:
        source = store.catalog.register(parse_definition({**definition, "visibility": LABEL, "fields": fields}))
        start = datetime(2024, 3, 1, tzinfo=UTC)
        write(sink, source, 0, batch_of(source, [{"ts": start + timedelta(seconds=n), "n": n} for n in range(10)]))
        sink.flush()
    deadline = time.monotonic() + 5
    while [count("holder"), count("all")] != [10, 10]:
        assert time.monotonic() < deadline, "the label is not known after 5 s"
        time.sleep(0.1)
    assert count("another") is None
