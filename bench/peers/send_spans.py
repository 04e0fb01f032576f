"""Workload W as OpenTelemetry spans over OTLP/HTTP. Runs in a peer's own environment, which has what it imports.

    python send_spans.py '{"url": ..., "headers": {}, "runs": 2000, "senders": 4, "seed": 0, "tools": 6}'

A run is one trace: an agent span, 3 model spans, 6 tool spans. Ten runs go in one request; everything is encoded before
the clock starts. Prints as JSON when the first request began (seconds since 1970) and how long all answers took.
"""

import hashlib
import http.client
import json
import random
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

RUNS_A_REQUEST = 10
BEGAN_NS = 1_796_000_000_000_000_000
TOOLS = ("lookup_order", "track_shipment", "check_stock", "search_catalog", "get_policy", "customer_history")
BUSY = (429, 502, 503)
A_PAUSE_S = 0.05
TRIES = 2_000


def main() -> None:
    order = json.loads(sys.argv[1])
    bodies = [list(requests(order, sender)) for sender in range(order["senders"])]
    began_at, began = time.time(), time.perf_counter()
    failed: list[str] = []
    senders = [threading.Thread(target=send, args=(order, mine, failed)) for mine in bodies]
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join()
    print(json.dumps({"began_at": began_at, "seconds": time.perf_counter() - began, "failed": failed}))


def send(order: dict[str, Any], bodies: list[bytes], failed: list[str]) -> None:
    """Request after request over one connection; busy answers and lost connections are tried again, as exporters do."""
    where = urlsplit(order["url"])
    connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=120)
    headers = {"Content-Type": "application/x-protobuf", **order["headers"]}
    for body in bodies:
        for _ in range(TRIES):
            try:
                connection.request("POST", where.path, body, headers)
                answer = connection.getresponse()
                answer.read()
                problem = "" if answer.status < 300 else f"HTTP {answer.status}"
            except (OSError, http.client.HTTPException) as lost:
                connection.close()  # the next request opens it again
                problem = type(lost).__name__
            if not problem:
                break
            if problem.startswith("HTTP") and answer.status not in BUSY:
                failed.append(problem)
                return
            time.sleep(A_PAUSE_S)
        else:
            failed.append(problem)
            return


def requests(order: dict[str, Any], sender: int) -> Iterator[bytes]:
    mine = range(sender, order["runs"], order["senders"])
    for first in range(0, len(mine), RUNS_A_REQUEST):
        request = ExportTraceServiceRequest()
        resource = request.resource_spans.add()
        _attribute(resource.resource, "service.name", "northwind")
        scope = resource.scope_spans.add()
        for number in mine[first : first + RUNS_A_REQUEST]:
            a_run(scope.spans, number, order["seed"], order["tools"])
        yield request.SerializeToString()


def a_run(spans: Any, number: int, seed: int, tools: int) -> None:
    chance = random.Random(f"{seed}/{number}")
    trace = hashlib.md5(f"{seed}/{number}".encode()).digest()
    at = BEGAN_NS + number * 1_700_000_000
    root = span(spans, trace, 0, None, "support", at, 900 + 30 * tools)
    question = f"Where is my order NW-{chance.randrange(1000, 9999)}, and what can you do about the delay?"
    answer = (
        "It left the hub on 27 November and is 6 days late. You can choose express re-shipping or a refund."
    )
    _described(
        root, "AGENT", {"input.value": question, "output.value": answer, "session.id": f"session-{number}"}
    )
    for call in range(3):
        model = span(spans, trace, 1 + call, 0, "chat demo-large", at + call * 300_000_000, 250)
        words = {"llm.model_name": "demo-large", "gen_ai.request.model": "demo-large"}
        _described(model, "LLM", {**words, "input.value": question, "output.value": answer})
        _attribute(model, "llm.token_count.prompt", chance.randrange(300, 4000))
        _attribute(model, "llm.token_count.completion", chance.randrange(10, 400))
    for call in range(tools):
        name = TOOLS[call % len(TOOLS)]
        tool = span(spans, trace, 4 + call, 0, name, at + (10 + call) * 20_000_000, 15)
        words = {"tool.name": name, "gen_ai.tool.name": name, "gen_ai.tool.call.id": f"call_{number}_{call}"}
        _described(
            tool, "TOOL", {**words, "input.value": '{"order": "NW-1042"}', "output.value": '{"ok": true}'}
        )


def span(spans: Any, trace: bytes, place: int, parent: int | None, name: str, at: int, lasts_ms: int) -> Any:
    one = spans.add()
    one.trace_id = trace
    one.span_id = _span_id(trace, place)
    if parent is not None:
        one.parent_span_id = _span_id(trace, parent)
    one.name, one.kind = name, 1
    one.start_time_unix_nano, one.end_time_unix_nano = at, at + lasts_ms * 1_000_000
    one.status.code = 1
    return one


def _span_id(trace: bytes, place: int) -> bytes:
    return hashlib.md5(trace + place.to_bytes(4, "big")).digest()[:8]


def _described(span: Any, kind: str, words: dict[str, str]) -> None:
    _attribute(span, "openinference.span.kind", kind)
    for name, value in words.items():
        _attribute(span, name, value)


def _attribute(holder: Any, name: str, value: str | int) -> None:
    one = holder.attributes.add()
    one.key = name
    if isinstance(value, int):
        one.value.int_value = value
    else:
        one.value.string_value = value


if __name__ == "__main__":
    main()
