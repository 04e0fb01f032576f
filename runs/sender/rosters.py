"""Delegation in an agent: say what a delegation tool may inject, check what its factory did, and report both.

    desk = Delegation(run, "consult_specialist", roster=[{"name": "notes", "contentOrigin": "workspace"}])
    products = factory(task)                       # what the child would be given beside its pool
    desk.spawn(products, call_id=call.id, child_run_id=child.id)   # raises UndeclaredTool before the child starts

The roster is the upper bound: a declared tool that is not injected is fine, an injected one that is not declared is
not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from runs.rules.json_types import ABSENT
from runs.rules.roster import (
    EXTRA_TOOL_NAMES_CODE,
    ExtraToolNamesError,
    RosterProblem,
    ToolProduct,
    first_undeclared_extra_tool,
    read_extra_tool_names,
)
from runs.sender.run import Run

Tool = Mapping[str, Any]


class UndeclaredTool(Exception):
    """A product that the roster does not cover. `problem` holds registered names: it is for operators."""

    code = EXTRA_TOOL_NAMES_CODE

    def __init__(self, problem: RosterProblem) -> None:
        super().__init__(problem.sentence)
        self.problem = problem


class Delegation:
    """One delegation tool of a run. Made once, it declares; `spawn` is said before each child starts.

    `roster`: ``[{"name", "aliases"?, "contentOrigin"?}]``, left out where there is none; `static_pool` the tool's own
    tools, `inherited_surface` what it narrows from where it has none. `undeclared`: "refuse" raises before the child
    starts and reports the refusal, "report" lets it start and reports what it was given. A roster that is not one is
    reported as it came, and refused here with `ExtraToolNamesError`.
    """

    def __init__(
        self,
        run: Run,
        tool_name: str,
        *,
        roster: object = ABSENT,
        has_factory: bool = True,
        static_pool: Iterable[Tool] | None = None,
        inherited_surface: Iterable[Tool] | None = None,
        undeclared: Literal["refuse", "report"] = "refuse",
    ) -> None:
        if undeclared not in ("refuse", "report"):
            raise ValueError('`undeclared` is "refuse" or "report".')
        self.run, self.tool_name, self.undeclared = run, tool_name, undeclared
        run.delegation_declared(
            tool_name,
            has_factory=has_factory,
            static_pool=static_pool,
            inherited_surface=inherited_surface,
            extra_tool_names=roster,
        )
        self.roster = read_extra_tool_names(roster, has_factory)

    def spawn(
        self,
        products: Iterable[Tool],
        *,
        call_id: str | None = None,
        child_run_id: str | None = None,
        denied_tools: Iterable[str] | None = None,
    ) -> RosterProblem | None:
        """The child is about to start with these products. Their first problem, where it starts all the same."""
        given = list(products)
        problem = None
        if self.roster is not None:
            problem = first_undeclared_extra_tool(self.roster, map(_product, given), self.tool_name)
        if problem is not None and self.undeclared == "refuse":
            self.run.delegation_refused(
                self.tool_name, EXTRA_TOOL_NAMES_CODE, problem.reason.value, call_id=call_id
            )
            raise UndeclaredTool(problem)
        self.run.delegation_spawned(
            self.tool_name, given, call_id=call_id, child_run_id=child_run_id, denied_tools=denied_tools
        )
        return problem


def _product(tool: Tool) -> ToolProduct:
    origin = tool.get("contentOrigin")
    return ToolProduct(
        str(tool["name"]),
        tuple(map(str, tool.get("aliases") or ())),
        origin if isinstance(origin, str) else None,
    )


__all__ = ["Delegation", "ExtraToolNamesError", "UndeclaredTool"]
