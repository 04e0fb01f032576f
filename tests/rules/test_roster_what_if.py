"""Another roster judged against the spawns on record, and the tight one."""

from hypothesis import given
from hypothesis import strategies as st

from runs.rules.roster import (
    ExtraToolDeclaration,
    ToolProduct,
    first_undeclared_extra_tool,
    read_extra_tool_names,
)
from runs.rules.roster_what_if import as_json, tight_roster, what_if_roster
from runs.rules.vocabulary import ContentClass, RosterReason

NOTES = ToolProduct("notes", ("scratch",), "workspace")
WEB = ToolProduct("web", (), "external")
PLAIN = ToolProduct("plain")

names = st.sampled_from(["a", "b", "c", "d", "e"])
products = st.builds(
    ToolProduct,
    names,
    st.lists(names, max_size=2).map(tuple),
    st.sampled_from([None, "internal", "workspace", "external", "made up"]),
)


def test_spawns_are_judged_one_by_one() -> None:
    roster = [
        ExtraToolDeclaration("notes", ("scratch",), ContentClass.INTERNAL),
        ExtraToolDeclaration("unused"),
    ]
    told = what_if_roster(roster, [[NOTES], [], [WEB, NOTES]], "delegate")
    assert [(one.place, [p.reason for p in one.problems]) for one in told.refused] == [
        (0, [RosterReason.UNDECLARED_ORIGIN]),
        (2, [RosterReason.UNDECLARED_NAME, RosterReason.UNDECLARED_ORIGIN]),
    ]
    assert told.spawns == 3
    assert [entry.name for entry in told.slack] == ["unused"]


def test_the_tight_roster_of_what_was_seen() -> None:
    found = tight_roster([NOTES, WEB, PLAIN, ToolProduct("scratch", (), "internal"), NOTES])
    assert as_json(found) == [
        {"name": "notes", "aliases": ["scratch"], "contentOrigin": "workspace"},
        {"name": "plain", "contentOrigin": "external"},
        {"name": "web", "contentOrigin": "external"},
    ]
    assert tight_roster([]) == ()


@given(st.lists(products, max_size=8))
def test_a_tight_roster_is_a_roster_covers_everything_and_nothing_more(seen: list[ToolProduct]) -> None:
    found = tight_roster(seen)
    assert read_extra_tool_names(as_json(found), True) == found
    assert first_undeclared_extra_tool(found, seen, "delegate") is None
    assert what_if_roster(found, [seen], "delegate").slack == ()
    for place, entry in enumerate(found):
        without = (*found[:place], *found[place + 1 :])
        assert first_undeclared_extra_tool(without, seen, "delegate") is not None
        for nearer in ContentClass:
            if entry.content_origin is not None and entry.content_origin.is_further_out_than(nearer):
                narrower = ExtraToolDeclaration(entry.name, entry.aliases, nearer)
                changed = (*found[:place], narrower, *found[place + 1 :])
                assert first_undeclared_extra_tool(changed, seen, "delegate") is not None
