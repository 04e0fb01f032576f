"""The peers: how each is installed, started, spoken to, and where its rows are."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote


@dataclass(frozen=True)
class Peer:
    """`command`, `environment` and `database` are given the port and the folder of its data.

    `page` and `list_of_50` give what its own user interface asks for one trace and for the newest fifty:
    (path, JSON body or None for GET).
    """

    name: str
    package: str
    command: Callable[[int, Path], list[str]]
    environment: Callable[[int, Path], dict[str, str]]
    database: Callable[[Path], Path]
    page: Callable[[str], tuple[str, bytes | None]]
    list_of_50: Callable[[], tuple[str, bytes | None]]
    health: str
    least: float  # how many times its rate ours has to be
    headers: Mapping[str, str] = field(default_factory=dict)

    def spans(self, data: Path) -> int:
        """How many spans are committed, asked over a connection of our own."""
        path = self.database(data)
        if not path.exists():
            return 0
        try:
            with closing(sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True, timeout=5)) as asked:
                return int(asked.execute("SELECT count(*) FROM spans").fetchone()[0])
        except sqlite3.OperationalError:  # no table yet, or locked
            return 0


# Fewer fields than its own pages ask for, with the same depth: what is compared is not made slower than it is.
PHOENIX_TRACE = """
query($id: ID!) { node(id: $id) { ... on Project { trace(traceId: "%s") {
  numSpans latencyMs
  spans(first: 1000) { edges { node {
    id spanId name spanKind statusCode startTime endTime parentId latencyMs tokenCountTotal
    costSummary { total { cost } }
  } } }
} } } }
"""
PHOENIX_LIST = """
query($id: ID!) { node(id: $id) { ... on Project {
  spans(first: 50, filterCondition: "parent_span is None", sort: {col: startTime, dir: desc}) { edges { node {
    id name spanKind statusCode startTime latencyMs cumulativeTokenCountTotal
    input { value: truncatedValue } output { value: truncatedValue }
    trace { traceId numSpans costSummary { total { cost } } }
    descendants(first: 50) { edges { node {
      id name spanKind statusCode startTime latencyMs parentId tokenCountTotal
      input { value: truncatedValue } output { value: truncatedValue }
    } } }
  } } }
} } }
"""
PHOENIX_PROJECT = "UHJvamVjdDox"  # "Project:1", the one everything goes to


def _graphql(query: str) -> tuple[str, bytes]:
    return "/graphql", json.dumps({"query": query, "variables": {"id": PHOENIX_PROJECT}}).encode()


PHOENIX = Peer(
    name="Phoenix",
    package="arize-phoenix",
    command=lambda port, data: ["phoenix", "serve"],
    environment=lambda port, data: {
        "PHOENIX_HOST": "127.0.0.1",
        "PHOENIX_PORT": str(port),
        "PHOENIX_GRPC_PORT": str(port + 1),
        "PHOENIX_WORKING_DIR": str(data),
        "PHOENIX_TELEMETRY_ENABLED": "false",
    },
    database=lambda data: data / "phoenix.db",
    page=lambda trace: _graphql(PHOENIX_TRACE % trace),
    list_of_50=lambda: _graphql(PHOENIX_LIST),
    health="/healthz",
    least=40,
)

MLFLOW = Peer(
    name="MLflow",
    package="mlflow",
    command=lambda port, data: [
        *("mlflow", "server", "--host", "127.0.0.1", "--port", str(port)),
        *("--backend-store-uri", f"sqlite:///{data / 'mlflow.db'}"),
        *("--default-artifact-root", str(data / "artifacts")),
    ],
    environment=lambda port, data: {"MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "true"},
    database=lambda data: data / "mlflow.db",
    page=lambda trace: (f"/ajax-api/3.0/mlflow/traces/get?trace_id=tr-{trace}", None),
    list_of_50=lambda: (
        "/ajax-api/3.0/mlflow/traces/search",
        json.dumps(
            {
                "locations": [{"type": "MLFLOW_EXPERIMENT", "mlflow_experiment": {"experiment_id": "0"}}],
                "max_results": 50,
                "order_by": ["timestamp_ms DESC"],
            }
        ).encode(),
    ),
    health="/health",
    least=4,
    headers={"x-mlflow-experiment-id": "0"},
)

PEERS = (MLFLOW, PHOENIX)
