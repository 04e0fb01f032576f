"""Tool choice with the OpenAI Agents SDK (`pip install openai-agents 'footprint[lexical]'`).

The SDK asks its model with the tools of the agent. `Served` stands between the two: it shows the model the tools that
fit the question and reports what was ranked, shown and called. `Told` reports the tools as they run.

    FOOTPRINT_TOKEN=... OPENAI_API_KEY=... python -m examples.openai_agents_desk "Where is my parcel NW-77?"
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from agents import Agent, Model, ModelResponse, RunConfig, RunHooks, Runner, function_tool

from examples.desk import TOOLS, WORDS
from runs.classifiers.lexical import Lexical
from runs.sender import AsyncSender, Run
from runs.sender.tool_choice import ToolChoice


class Served(Model):
    """The model, shown what fits. Tools that are no functions (hosted ones) are always shown."""

    def __init__(self, inner: Model, choice: ToolChoice, question: str) -> None:
        self.inner, self.choice, self.question = inner, choice, question

    async def get_response(
        self, system_instructions: Any, input: Any, model_settings: Any, tools: Any, *rest: Any, **more: Any
    ) -> ModelResponse:
        run = self.choice.run
        listed = [{"name": tool.name, "description": getattr(tool, "description", "")} for tool in tools]
        step = await self.choice.before(self.question, listed)
        run.llm_start(step.tools)
        shown = [tool for tool in tools if tool.name in step.served]
        reply = await self.inner.get_response(
            system_instructions, input, model_settings, shown, *rest, **more
        )
        called = [item.name for item in reply.output if item.type == "function_call"]
        step.after(called)
        run.llm_end(
            len(called), input_tokens=reply.usage.input_tokens, output_tokens=reply.usage.output_tokens
        )
        return reply

    def stream_response(self, *arguments: Any, **more: Any) -> Any:
        raise NotImplementedError("This example answers in one piece: use Runner.run.")


class Told(RunHooks[Any]):
    """Reports each call of a tool. The SDK turns a tool's error into its result: such a call has worked, to the SDK."""

    def __init__(self, run: Run) -> None:
        self.run = run

    async def on_tool_start(self, context: Any, agent: Any, tool: Any) -> None:
        self.run.tool_start(tool.name, context.tool_call_id)

    async def on_tool_end(self, context: Any, agent: Any, tool: Any, result: object) -> None:
        self.run.tool_end(context.tool_call_id)


async def answer(question: str, model: Model, sender: AsyncSender, *, top: int | None = 2) -> str:
    """One question, one answer, one run on record."""
    sender.tools_declared(WORDS)
    run = sender.run(agent_id="desk", provider="openai", model=type(model).__name__)
    agent = Agent(
        name="desk", instructions="You help customers.", tools=[function_tool(tool) for tool in TOOLS]
    )
    served = Served(model, ToolChoice(run, Lexical(), top=top), question)
    run.turn_start(question)
    try:
        done = await Runner.run(
            agent, question, run_config=RunConfig(model=served, tracing_disabled=True), hooks=Told(run)
        )
    except Exception:
        run.fail()
        raise
    run.turn_end(str(done.final_output))
    run.finish()
    return str(done.final_output)


async def main(question: str) -> None:
    from agents import OpenAIProvider

    async with AsyncSender("http://127.0.0.1:8000", name="openai-agents-desk") as sender:
        print(await answer(question, OpenAIProvider().get_model(None), sender))


if __name__ == "__main__":
    asyncio.run(main(" ".join(sys.argv[1:]) or "Where is my parcel NW-77?"))
