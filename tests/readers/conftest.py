"""A hand that slips something into a template, to see that it is found."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.template import engines

Plant = Callable[[str, str], None]


@pytest.fixture
def plant(monkeypatch: pytest.MonkeyPatch) -> Iterator[Plant]:
    """`plant(place, html)`: from now on the template of this name prints `html` too."""
    cached = engines["django"].engine.template_loaders

    def forget() -> None:
        for loader in cached:
            loader.reset()

    def slip_in(place: str, html: str) -> None:
        loader: Any = cached[0]
        while getattr(loader, "loaders", None):
            loader = loader.loaders[0]
        genuine = type(loader).get_contents

        def planted(self: Any, origin: Any) -> str:
            text: str = genuine(self, origin)
            if origin.template_name != place:
                return text
            main = "{% block main %}"
            return text.replace(main, html + main, 1) if main in text else text + html

        monkeypatch.setattr(type(loader), "get_contents", planted)
        forget()

    yield slip_in
    monkeypatch.undo()
    forget()
