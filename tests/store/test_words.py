"""Whose words win, when they are left out, and what a rename does."""

import pytest
from django.contrib.auth.models import User
from django.db.models import F

from runs.models import ID_BITS, DeclaredName, DisplayName, Project, SeenName, Stream
from runs.rules.display_name import named_calls
from runs.rules.tool_ledger import AnswerToolCall
from runs.store.names import name_history, set_display_name
from runs.store.words import WordsFrom, read_words

pytestmark = pytest.mark.django_db


@pytest.fixture
def project():
    return Project.objects.create(name="Northwind", position=100)


@pytest.fixture
def ada():
    return User.objects.create_user("ada")


class App:
    """An app that declares names and is seen using tools, at positions of its own."""

    def __init__(self, project):
        self.project = project
        self.stream = Stream.objects.create(project=project, name="s1", instance="i1")

    def row(self):
        Project.objects.filter(pk=self.project.pk).update(row_number=self.number() + 1)
        return self.project.pk << ID_BITS | self.number()

    def number(self):
        return Project.objects.get(pk=self.project.pk).row_number

    def declares(self, tool, text, problem="", at=1):
        DeclaredName.objects.create(
            id=self.row(), project=self.project, epoch=1, stream=self.stream, tool=tool, text=text,
            problem=problem, position=at,
        )  # fmt: skip
        self.bumps()

    def uses(self, name, alias=False):
        SeenName.objects.create(
            id=self.row(), project=self.project, epoch=1, name=name, alias=alias, tool=not alias,
            first_position=1, last_ms=0,
        )  # fmt: skip
        self.bumps()

    def bumps(self):
        """As the writer does, in the same transaction."""
        Project.objects.filter(pk=self.project.pk).update(words_version=F("words_version") + 1)


@pytest.fixture
def app(project):
    return App(project)


def words_of(project, tool, **at):
    return read_words(project.pk, 1, **at).of(tool)


def test_the_latest_declared_name_wins(project, app):
    app.declares("lookup_order", "Look up an order", at=1)
    app.declares("lookup_order", "Find the order", at=5)
    words = words_of(project, "lookup_order")
    assert (words.text, words.source, words.problem) == ("Find the order", WordsFrom.DECLARED, None)


def test_a_refused_declaration_keeps_its_problem_and_does_not_bring_back_the_older_one(project, app):
    app.declares("lookup_order", "Look up an order", at=1)
    app.declares("lookup_order", "", problem="The display name must not be empty.", at=5)
    words = words_of(project, "lookup_order")
    assert (words.text, words.problem) == (None, "The display name must not be empty.")
    assert words_of(project, "lookup_order", at_position=4).text == "Look up an order"


def test_an_admins_name_wins_and_clearing_falls_back(project, app, ada):
    app.declares("lookup_order", "Look up an order")
    assert set_display_name(project.pk, "lookup_order", "  Find your order ", ada) is None
    words = words_of(project, "lookup_order")
    assert (words.text, words.source, words.declared) == (
        "Find your order",
        WordsFrom.SET_HERE,
        "Look up an order",
    )
    assert set_display_name(project.pk, "lookup_order", " ", ada) is None
    assert words_of(project, "lookup_order").text == "Look up an order"
    assert [(line.text, line.by) for line in name_history(project.pk, "lookup_order")] == [
        (None, "ada"),
        ("Find your order", "ada"),
    ]


def test_a_rename_bumps_the_version_once(project, ada):
    before = read_words(project.pk, 1).version
    set_display_name(project.pk, "t", "Do a thing", ada)
    assert read_words(project.pk, 1).version == before + 1
    set_display_name(project.pk, "t", "Do a thing", ada)
    set_display_name(project.pk, "t", "\u202eright to left", ada)
    assert read_words(project.pk, 1).version == before + 1
    assert DisplayName.objects.count() == 1


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a\nb", "U+000A"),
        ("a\u0000b", "U+0000"),
        ("a\u202eb", "U+202E"),
        ("a" * 61, "at most 60 characters, and it has 61"),
        ("a" * 10_000, "it has 10000"),
        ("lookup_order", "the registered name of a tool"),
        (" lookup_order\t", "the registered name of a tool"),
        ("order_by_id", "the registered name of a tool"),
    ],
)
def test_a_refused_name_is_not_saved_and_the_sentence_does_not_print_it(project, app, ada, text, says):
    app.uses("lookup_order")
    app.uses("order_by_id", alias=True)
    problem = set_display_name(project.pk, "lookup_order", text, ada)
    assert says in problem
    assert text.strip() not in problem
    assert not DisplayName.objects.exists()


@pytest.mark.parametrize(
    "text", ["a" * 60, "None", "<script>alert(1)</script>", "{{7*7}}", "__proto__", "😀 smile"]
)
def test_an_odd_but_plain_name_is_a_name(project, ada, text):
    assert set_display_name(project.pk, "t", text, ada) is None
    assert words_of(project, "t").text == text


def test_half_a_surrogate_pair_is_saved_as_a_replacement_mark(project, ada):
    assert set_display_name(project.pk, "t", "a\ud83d", ada) is None
    assert words_of(project, "t").text == "a\ufffd"


def test_a_tool_that_appears_later_takes_its_name_away_from_every_position(project, app, ada):
    app.declares("a", "refund")
    set_display_name(project.pk, "b", "cancel", ada)
    assert read_words(project.pk, 1).display_name_of("a") == "refund"
    app.uses("refund")
    app.uses("cancel", alias=True)
    for words in (read_words(project.pk, 1), read_words(project.pk, 1, at_position=1_000)):
        for tool in ("a", "b"):
            assert words.display_name_of(tool) is None
            assert (
                words.of(tool).problem
                == "The display name is the registered name of a tool, which readers never see."
            )


def test_a_row_the_rule_refuses_is_never_printed_wherever_it_came_from(project, app):
    app.declares("a", "two\nlines")
    DisplayName.objects.create(project=project, tool="b", text="\u200bhidden")
    words = read_words(project.pk, 1)
    assert words.display_name_of("a") is words.display_name_of("b") is None
    assert "U+000A" in words.of("a").problem
    assert "U+200B" in words.of("b").problem


def test_words_as_they_were(project, app, ada):
    app.declares("t", "First", at=10)
    app.declares("t", "Second", at=20)
    Project.objects.filter(pk=project.pk).update(position=30)
    set_display_name(project.pk, "t", "Third", ada)
    at = {p: words_of(project, "t", at_position=p).text for p in (9, 10, 19, 20, 30, 31)}
    assert at == {9: None, 10: "First", 19: "First", 20: "Second", 30: "Second", 31: "Third"}


def test_the_registered_name_is_never_the_fallback(project, app):
    app.uses("lookup_order")
    words = read_words(project.pk, 1)
    assert words.display_name_of("lookup_order") is None
    assert words.display_name_of(None) is None
    assert named_calls([AnswerToolCall("lookup_order", "1", "ok")], 0, words.display_name_of) is None


def test_two_tools_that_share_a_name_are_told(project, app):
    app.declares("a", "Search")
    app.declares("b", "Search ")
    app.declares("c", "Find")
    words = read_words(project.pk, 1)
    assert words.sharing("a") == ("b",)
    assert words.sharing("c") == ()


def test_a_preview_saves_nothing(project, app):
    app.declares("a", "Search")
    words = read_words(project.pk, 1)
    assert words.with_name("a", "Find").display_name_of("a") == "Find"
    assert words.with_name("a", "").display_name_of("a") == "Search"
    assert words.with_name("a", "a\tb").of("a").problem is not None
    assert not DisplayName.objects.exists()


def test_only_the_epoch_that_counts(project, app):
    app.declares("a", "Search")
    assert read_words(project.pk, 2).display_name_of("a") is None


def test_four_queries_for_any_number_of_tools(project, app, ada, django_assert_num_queries):
    for n in range(30):
        app.declares(f"t{n}", f"Tool {n}")
        app.uses(f"t{n}")
        set_display_name(project.pk, f"t{n}", f"Thing {n}", ada)
    with django_assert_num_queries(4):
        assert len(read_words(project.pk, 1).by_tool) == 30
    with django_assert_num_queries(1):  # whether they are still the words of now
        assert len(read_words(project.pk, 1).by_tool) == 30
    with django_assert_num_queries(4):
        assert len(read_words(project.pk, 1, at_position=1).by_tool) == 30


def test_words_are_remembered_by_project_and_epoch(project, app):
    app.declares("a", "Looking up")
    other = Project.objects.create(name="Elsewhere", words_version=read_words(project.pk, 1).version)
    assert read_words(other.pk, 1).display_name_of("a") is None
    assert read_words(project.pk, 2).display_name_of("a") is None
    assert read_words(project.pk, 1).display_name_of("a") == "Looking up"
