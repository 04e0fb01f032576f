"""The sender's copy of the allow-list is the allow-list."""

from runs.rules import kept_js
from tests.server_process import ROOT


def test_the_committed_module_is_what_the_table_gives_now():
    committed = (ROOT / kept_js.MODULE).read_text(encoding="utf-8")
    assert committed == kept_js.module(), (
        "the allow-list changed: run `make kept-js` and commit what it wrote"
    )
