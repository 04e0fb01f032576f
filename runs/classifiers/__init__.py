"""Providers for `rules.tool_choice.pick_tools`: each ranks the tools on offer in its own way and answers in one shape.

- `lexical.Lexical` reads the words of the tools' own names and descriptions (BM25); nothing is sent anywhere.
  Needs ``pip install footprint[lexical]``.
- `embedding.Embedding` reads their meaning, with a model that lies in its package; nothing is sent or downloaded.
  Needs ``pip install footprint[embedding]``.
- `chat.Chat` asks any chat endpoint that speaks OpenAI's protocol. Needs ``pip install footprint[chat]``.
- `called.Called` is whatever a function of yours makes of it.

None of them retries unless told to, and none invents a score that it does not have.
"""
