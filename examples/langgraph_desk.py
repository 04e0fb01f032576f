"""Tool choice with LangGraph (`pip install langgraph 'footprint[lexical]'`): two nodes, the model and its tools.

The model's node asks which tools fit, binds those alone, and reports what was ranked, shown and called; the tools' node
reports each call as it runs.

    answer("Where is my parcel?", ChatOpenAI(...), sender)     any chat model of LangChain that takes tools
"""

from __future__ import annotations

from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import StructuredTool
from langgraph.graph import END, START, MessagesState, StateGraph

from examples.desk import TOOLS, WORDS
from runs.classifiers.lexical import Lexical
from runs.sender import AsyncSender, Run
from runs.sender.tool_choice import ToolChoice

DESK = {tool.__name__: StructuredTool.from_function(tool) for tool in TOOLS}
LISTED = [{"name": name, "description": tool.description} for name, tool in DESK.items()]


def graph_of(model: BaseChatModel, run: Run, choice: ToolChoice, question: str) -> Any:
    async def call_model(state: MessagesState) -> dict[str, Any]:
        step = await choice.before(question, LISTED)
        run.llm_start(step.tools)
        reply = await model.bind_tools([DESK[name] for name in step.served]).ainvoke(state["messages"])
        assert isinstance(reply, AIMessage)
        step.after([call["name"] for call in reply.tool_calls])
        usage: Any = reply.usage_metadata or {}
        run.llm_end(
            len(reply.tool_calls),
            input_tokens=usage.get("input_tokens"),
            output_tokens=usage.get("output_tokens"),
        )
        return {"messages": [reply]}

    async def call_tools(state: MessagesState) -> dict[str, Any]:
        said = []
        for call in state["messages"][-1].tool_calls:
            call_id = run.tool_start(call["name"], call["id"])
            try:
                result, failed = await DESK[call["name"]].ainvoke(call["args"]), False
            except Exception as error:  # the model is told, and may try something else
                result, failed = f"It did not work ({type(error).__name__}).", True
            run.tool_end(call_id, error=failed)
            said.append(ToolMessage(str(result), tool_call_id=call["id"]))
        return {"messages": said}

    graph = StateGraph(MessagesState)
    graph.add_node("model", call_model)
    graph.add_node("tools", call_tools)
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", lambda state: "tools" if state["messages"][-1].tool_calls else END)
    graph.add_edge("tools", "model")
    return graph.compile()


async def answer(question: str, model: BaseChatModel, sender: AsyncSender, *, top: int | None = 2) -> str:
    """One question, one answer, one run on record."""
    sender.tools_declared(WORDS)
    run = sender.run(agent_id="desk", provider="langchain", model=type(model).__name__)
    run.turn_start(question)
    try:
        graph = graph_of(model, run, ToolChoice(run, Lexical(), top=top), question)
        done = await graph.ainvoke({"messages": [HumanMessage(question)]})
    except Exception:
        run.fail()
        raise
    text = str(done["messages"][-1].content)
    run.turn_end(text)
    run.finish()
    return text
