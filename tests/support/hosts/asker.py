"""Asks the REST service for all events of a source, again and again, and prints a JSON line for each answer.

Arguments: the service's address, the file with a token, the source. It runs until it is killed.
"""

from __future__ import annotations

import json
import sys
import time

from watchfloor.api.client import Client, ClientError


def ask(client: Client, source: str) -> dict[str, object]:
    """Returns the IDs in the answer, and how the answer ended: a word of the service's, or an error's name."""
    ids: list[int] = []
    began = time.monotonic()
    try:
        answer = client.query(source, columns=["id"])
        ids.extend(int(row["id"]) for row in answer)
        end, said = str(answer.summary.status), ""
    except ClientError as error:
        end, said = type(error).__name__, str(error)
    whole = {"began": began, "seconds": time.monotonic() - began, "events": len(ids), "distinct": len(set(ids))}
    return {**whole, "end": end, "said": said}


def main(url: str, token_file: str, source: str) -> None:
    client = Client(url, token_file=token_file)
    while True:
        print(json.dumps(ask(client, source)), flush=True)
        time.sleep(0.2)


if __name__ == "__main__":
    main(*sys.argv[1:])
