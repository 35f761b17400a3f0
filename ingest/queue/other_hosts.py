"""Finds a worker on another host for an item whose file cannot be opened on this one.

The hosts that have workers, and the partitions that each of them reads, are those of the consumer group: a worker's
client identity in the group is the name of its host.
"""

from __future__ import annotations

from collections.abc import Collection

from watchfloor.schema.errors import QueueError
from watchfloor.schema.settings.settings import Settings

from .item import WorkItem
from .work_queue import ask_again, open_admin, queue_errors


def find_other_host(settings: Settings, item: WorkItem, missed: Collection[str]) -> tuple[int, str] | None:
    """Returns a partition that is read on none of the hosts ``missed``, and its host; None if there is none.

    Raises ``QueueError``.
    """
    others = {partition: host for partition, host in read_hosts(settings).items() if host not in missed}
    if not others:
        return None
    # Neighbouring items of a file spread over the partitions that can take them.
    partition = sorted(others)[int.from_bytes(item.item_id) % len(others)]
    return partition, others[partition]


def read_hosts(settings: Settings) -> dict[int, str]:
    """Returns the host on which each partition of the topic is read. Raises ``QueueError``."""
    with queue_errors(settings, "asking which hosts read it"), open_admin(settings) as admin:
        group = ask_again(lambda: admin.describe_groups([settings.group]))[settings.group]
    if group["group_state"] != "Stable":
        raise QueueError(f"the workers of the group {settings.group} are sharing out the queue anew; ask again")
    hosts = {}
    for member in group["members"]:
        assigned = (member["member_assignment"] or {}).get("assigned_partitions", ())
        for topic in assigned:
            if topic["topic"] == settings.topic:
                hosts.update(dict.fromkeys(topic["partitions"], member["client_id"]))
    return hosts
