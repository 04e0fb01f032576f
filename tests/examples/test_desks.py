"""The two framework examples, each with a scripted model, stream to a real server: their answers explain themselves."""

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from agents import Model, ModelResponse, Usage
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from examples import langgraph_desk, openai_agents_desk
from examples.desk import WORDS
from runs.sender import AsyncSender
from tests.js import server_data
from tests.server_process import server_process

QUESTION = "Where is my parcel? Please track it."
# One call that was shown, one that was not (the first reading shows two tools of four), and an answer.
SCRIPT = ("track_parcel", "search_catalog", None)
ANSWER = "It is in Bergen."


class ScriptedModel(Model):
    """Of the Agents SDK."""

    def __init__(self) -> None:
        self.shown: list[list[str]] = []

    async def get_response(
        self, system: Any, input: Any, settings: Any, tools: Any, *_: Any, **__: Any
    ) -> Any:
        tool = SCRIPT[len(self.shown)]
        self.shown.append([one.name for one in tools])
        output: Any = ResponseOutputMessage(
            id="m", role="assistant", status="completed", type="message",
            content=[ResponseOutputText(text=ANSWER, type="output_text", annotations=[])],
        )  # fmt: skip
        if tool is not None:
            argument = "words" if tool == "search_catalog" else "number"
            output = ResponseFunctionToolCall(
                name=tool,
                call_id=f"call-{len(self.shown)}",
                arguments=f'{{"{argument}": "NW-77"}}',
                type="function_call",
            )
        return ModelResponse(
            output=[output], usage=Usage(input_tokens=100, output_tokens=5), response_id=None
        )

    def stream_response(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError


class ScriptedChat(BaseChatModel):
    """Of LangChain."""

    shown: list[list[str]] = []

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        self.shown.append([tool.name for tool in tools])
        return self

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **_: Any) -> ChatResult:
        tool = SCRIPT[len(self.shown) - 1]
        calls = []
        if tool is not None:
            argument = "words" if tool == "search_catalog" else "number"
            calls = [{"name": tool, "args": {argument: "NW-77"}, "id": f"call-{len(self.shown)}"}]
        message = AIMessage("" if calls else ANSWER, tool_calls=calls)
        return ChatResult(generations=[ChatGeneration(message=message)])


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    folder = tmp_path_factory.mktemp("served")
    with server_process(data=folder) as server:
        yield folder, server.url


def text_of(html: str) -> str:
    return " ".join(unescape(re.sub(r"<(script|style).*?</\1>|<[^>]+>", " ", html, flags=re.DOTALL)).split())


async def test_both_are_told_ranked_and_narrowed_and_readers_see_the_apps_words(
    data: tuple[Path, str],
) -> None:
    folder, url = data
    token = server_data.begin(folder)
    for example, model in ((openai_agents_desk, ScriptedModel()), (langgraph_desk, ScriptedChat(shown=[]))):
        async with AsyncSender(url, token=token, name=example.__name__) as sender:
            assert await example.answer(QUESTION, model, sender) == ANSWER
        # Two of four; then, since the model asked for what it was not shown, once everything.
        assert [len(names) for names in model.shown] == [2, 2, 4]
        assert "track_parcel" in model.shown[0] and "search_catalog" not in model.shown[1]

    both = server_data.record(folder)
    assert len(both) == 2
    for (told,) in both.values():
        assert [call[0] for call in told["calls"]] == ["track_parcel", "search_catalog"]
        assert [call[2] for call in told["calls"]] == ["ok", "ok"]
        assert (told["ending"], told["undispatched"]) == ("answered", 0)
    for page in server_data.pages(folder):
        operator, reader = text_of(page["operator"]), text_of(page["reader"])
        assert "search_catalog" in operator and "lexical" in operator
        assert "It rests on tracking the parcel and searching the catalogue, which worked." in reader
        assert "The assistant was shown the 2 most fitting of its 4 tools." in reader and ANSWER in reader
        assert not [name for name in (*WORDS, "lexical", "NW-77", "a red chair") if name in page["reader"]]
