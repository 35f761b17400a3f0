"""A Python client of the REST service. It needs the service's address and a token, and neither a JVM nor a server.

with Client("http://127.0.0.1:8742", token_file=".watchfloor/secret/rest.token") as client:
    for event in client.query("zeek.dns", since="-1d", where="rcode = 3", limit=100):
        print(event["ts"], event["query"])
"""

from .answer import ServiceAnswer, Summary
from .client import Client
from .errors import AnswerCutOff, ClientError, ServiceProblem, ServiceUnreachable

__all__ = [
    "AnswerCutOff",
    "Client",
    "ClientError",
    "ServiceAnswer",
    "ServiceProblem",
    "ServiceUnreachable",
    "Summary",
]
