"""Alerts are posted in order, tried again when they are refused, given up after some tries, and never redirected.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from webhook_receiver import receive_webhooks

from watchfloor.query.rules.alerts.alert_state import AlertState, NewAlert
from watchfloor.query.rules.alerts.webhook import TRIES, WebhookPoster, check_webhook
from watchfloor.schema.errors import UserError


def make_state(folder: Path, many: int) -> AlertState:
    state = AlertState(folder / "state.db")
    lines = [json.dumps({"alert_id": str(number), "event": json.dumps({"n": number})}) for number in range(many)]
    state.put_alerts([NewAlert(str(number), line) for number, line in enumerate(lines)])
    return state


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_alerts_are_posted_in_order_after_failures(tmp_path: Path) -> None:
    state, said = make_state(tmp_path, 3), []
    with (
        receive_webhooks(500, 404) as receiver,
        WebhookPoster(receiver.address, tmp_path / "state.db", said.append, 0.01),
    ):
        wait_until(lambda: state.next_unposted() is None)
    assert receiver.taken == [{"alert_id": str(number), "event": {"n": number}} for number in range(3)]
    assert said == [
        "webhook: the answer is 500; trying again in 0.01 s",
        "webhook: the answer is 404; trying again in 0.02 s",
    ]


def test_an_alert_that_nobody_takes_is_given_up_and_the_next_is_posted(tmp_path: Path) -> None:
    state, said = make_state(tmp_path, 2), []
    with (
        receive_webhooks(*[503] * TRIES) as receiver,
        WebhookPoster(receiver.address, tmp_path / "state.db", said.append, 0.001),
    ):
        wait_until(lambda: state.next_unposted() is None)
    assert (receiver.asked, [alert["alert_id"] for alert in receiver.taken]) == (TRIES + 1, ["1"])
    assert said[-1] == f"webhook: the answer is 503; the alert 0 is given up after {TRIES} tries"


def test_no_answer_is_followed_elsewhere(tmp_path: Path) -> None:
    make_state(tmp_path, 1)
    with receive_webhooks() as target:
        for elsewhere in (target.address, "file:///etc/hostname", "ftp://127.0.0.1/"):
            said: list[str] = []
            with (
                receive_webhooks(*[302] * 3, Location=elsewhere) as receiver,
                WebhookPoster(receiver.address, tmp_path / "state.db", said.append, 0.01),
            ):
                wait_until(lambda said=said: len(said) > 1)  # type: ignore[misc]
            assert said[0].startswith("webhook: the answer is 302")
    assert target.asked == 0


def test_a_webhook_that_is_down_is_said_and_what_waits_stays(tmp_path: Path) -> None:
    state, said = make_state(tmp_path, 1), []
    with socket.socket() as unheard:
        unheard.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{unheard.getsockname()[1]}/"
        with WebhookPoster(address, tmp_path / "state.db", said.append, 30):
            wait_until(lambda: bool(said))
    assert "no answer: " in said[0]
    assert state.next_unposted() is not None


@pytest.mark.parametrize(
    "address", ["ftp://h/", "file:///x", "http://", "https:///x", "h", "", "http://h:0/", "http://h:x/", "http://a b/"]
)
def test_other_addresses_are_refused(address: str) -> None:
    with pytest.raises(UserError, match="http:// or https://"):
        check_webhook(address)
    check_webhook("https://user@host.example:8443/path?token=x")
