"""The world of the demo: Northwind, a shop for outdoor things, its tools, its customers and what they ask."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any, Final

from runs.rules.tool_choice import ToolCandidate

DELEGATE: Final = "consult_specialist"
ASK: Final = "ask_customer"
REFUND: Final = "issue_refund"

# Registered name, what the model reads, the app's own words (None: the app never declared any).
_TOOLS: Final[tuple[tuple[str, str, str | None], ...]] = (
    ("lookup_order", "Find one order by its number.", "looking up the order"),
    ("track_parcel", "Where the carrier last saw a parcel.", "asking the carrier where the parcel is"),
    ("check_stock", "How many of one article are in which warehouse.", "checking the stock"),
    ("search_catalog", "Find articles by words.", "searching the catalogue"),
    ("get_policy", "The shop's rules on one topic.", "reading the shop's rules"),
    ("customer_history", "Earlier orders of one customer.", "reading the customer's earlier orders"),
    ("quote_price", "Today's price with discounts.", "working out the price"),
    (REFUND, "Pay money back for an order.", "issuing a refund"),
    ("reserve_item", "Hold one article for two days.", "holding the article"),
    ("book_pickup", "Have a parcel fetched at the customer's door.", "booking a pick-up"),
    ("legacy_crm_note", "Write a note into the old customer system.", None),
    ("fx_rate", "Exchange rate of today.", None),
    (ASK, "Ask the customer something and wait for the answer.", "asking the customer"),
    (DELEGATE, "Hand a question to a specialist agent.", "asking a specialist"),
    ("present", "Show something to the customer.", "showing it to the customer"),
)
CATALOG: Final = {name: description for name, description, _ in _TOOLS}
DECLARED: Final = [
    {"name": name, "displayName": words, "description": description}
    if words
    else {"name": name, "description": description}
    for name, description, words in _TOOLS
]

# The agents of the desk: how many tools each has, and to how many its calls are narrowed (None: no classifier).
DESK: Final = tuple(name for name, _, _ in _TOOLS)
RETURNS: Final = ("lookup_order", "get_policy", REFUND, "book_pickup", ASK, "present")
COUNTER: Final = ("check_stock", "search_catalog", "present")


@dataclass(frozen=True)
class Agent:
    id: str
    model: str
    tools: tuple[str, ...]
    top: int | None


AGENTS: Final = (
    Agent("support", "demo-large", DESK, 3),
    Agent("support", "demo-large", DESK, 3),
    Agent("returns", "demo-small", RETURNS, 3),
    Agent("counter", "demo-small", COUNTER, 3),  # too few tools to leave any out
    Agent("night-desk", "demo-small", DESK[:11], None),
)

SPECIALIST_POOL: Final[list[dict[str, Any]]] = [
    {"name": "lookup_order", "contentOrigin": "workspace"},
    {"name": "get_policy", "contentOrigin": "internal"},
]
# What the host allows a specialist to be given beside its pool, and what it then really is given.
SPECIALIST_ROSTER: Final[list[dict[str, Any]]] = [
    {"name": "material_facts", "aliases": ["fabric_facts"], "contentOrigin": "internal"},
    {"name": "repair_guide", "contentOrigin": "workspace"},
    {"name": "carrier_tariffs"},
]
GOOD_PRODUCTS: Final[tuple[dict[str, Any], ...]] = (
    {"name": "material_facts", "aliases": ["fabric_facts"], "contentOrigin": "internal"},
    {"name": "repair_guide", "contentOrigin": "workspace"},
    {"name": "carrier_tariffs", "contentOrigin": "external"},
)
BAD_PRODUCTS: Final[tuple[dict[str, Any], ...]] = (
    {"name": "web_search", "contentOrigin": "external"},
    {"name": "repair_guide", "contentOrigin": "external"},
    {"name": "material_facts", "aliases": ["fabric_facts", "supplier_mail"], "contentOrigin": "internal"},
)

_ARTICLES: Final = (
    "two-person tent", "down sleeping bag", "rain jacket", "trekking poles", "gas stove", "head torch", "dry bag",
    "hiking boots", "folding chair", "water filter", "wool base layer", "climbing rope",
)  # fmt: skip
_NAMES: Final = (
    "Ingrid", "Mateo", "Aiko", "Samuel", "Noor", "Lena", "Tomasz", "Priya", "Kofi", "Elif", "Jonas", "Mei",
)  # fmt: skip
_CARRIERS: Final = ("Fjord Freight", "Alpen Post", "Harbour Parcel")
_DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_TOWNS: Final = ("Bergen", "Lyon", "Graz", "Leeds", "Gdansk", "Porto")


class Facts(dict[str, str]):
    """What one conversation is about; fills the sentences below."""

    @classmethod
    def drawn(cls, chance: Random) -> Facts:
        cents = chance.randrange(990, 38_000)
        return cls(
            order=f"NW-{chance.randrange(1000, 9999)}",
            name=chance.choice(_NAMES),
            article=chance.choice(_ARTICLES),
            other=chance.choice(_ARTICLES),
            carrier=chance.choice(_CARRIERS),
            day=chance.choice(_DAYS),
            town=chance.choice(_TOWNS),
            count=str(chance.randrange(2, 40)),
            money=f"{cents / 100:.2f}",
        )

    def say(self, chance: Random, sentences: tuple[str, ...]) -> str:
        return chance.choice(sentences).format_map(self)


@dataclass(frozen=True)
class Topic:
    """A kind of question, the tools that answer it in a sensible order, and to each question an answer in its place."""

    questions: tuple[str, ...]
    tools: tuple[str, ...]
    answers: tuple[str, ...]

    def one(self, chance: Random) -> Topic:
        """The topic with one of its questions, and the answer to it."""
        place = chance.randrange(len(self.questions))
        return Topic((self.questions[place],), self.tools, (self.answers[place],))


TOPICS: Final = (
    Topic(
        (
            "Where is my order {order}?",
            "My {article} should have come on {day}. What happened to {order}?",
            "Has {order} left the warehouse yet? I am in {town} until {day}.",
        ),
        ("lookup_order", "track_parcel", "get_policy", "customer_history"),
        (
            "Your order {order} is with {carrier}. It was last seen in {town} and should arrive on {day}.",
            "I am sorry: {order} is late. {carrier} now plans to deliver it on {day}.",
            "{order} left the warehouse and is on its way with {carrier}. Expect it on {day}.",
        ),
    ),
    Topic(
        (
            "Do you have the {article} in stock in {town}?",
            "I need {count} of the {article} by {day}. Is that possible?",
            "Which is lighter, the {article} or the {other}, and are both in stock?",
        ),
        ("search_catalog", "check_stock", "quote_price", "fx_rate"),
        (
            "Yes, we have {count} of the {article} in {town}. One costs {money}.",
            "We can send {count} by {day}. The price is {money} each.",
            "The {article} is lighter and in stock in {town}; the {other} comes back on {day}.",
        ),
    ),
    Topic(
        (
            "The zip of my {article} broke after a week. Can I get my money back for {order}?",
            "I returned {order} and have not seen my {money} yet.",
            "You sent a {other} instead of the {article}. Order {order}.",
        ),
        ("lookup_order", "get_policy", REFUND, "legacy_crm_note", "book_pickup"),
        (
            "{order} can be returned free of charge. {carrier} picks it up on {day}.",
            "I have refunded {money} for {order}. It takes three to five days to reach your account.",
            "That is our mistake, {name}. We fetch the {other} on {day} and refund {money}.",
        ),
    ),
    Topic(
        (
            "Can you hold a {article} for me in {town} until {day}?",
            "I would like to change the address of {order} to {town}.",
            "Is there a discount when I order {count} of the {article}?",
        ),
        ("customer_history", "check_stock", "reserve_item", "quote_price"),
        (
            "Done: one {article} is held for you in {town} until {day}.",
            "I have noted {town} as the new address. {order} goes there on {day}.",
            "For {count} of the {article} the price is {money} each, {name}.",
        ),
    ),
)

SMALL_TALK: Final = (
    ("Hello, is there a person?", "I am Northwind's assistant. I can look into orders, stock and refunds."),
    ("Thanks, that was all!", "You are welcome, {name}. Have a good trip!"),
    ("How do I wash a {article}?", "By hand, in lukewarm water, and let it dry in the shade."),
    ("What are your opening hours?", "The shop in {town} is open Monday to Saturday, 10 to 18."),
    ("Do you ship to {town}?", "Yes, with {carrier}, usually within four days."),
)
GREETINGS: Final = ("", "", "Hi, {name} here. ", "Good morning! ", "Hello from {town}. ")
FOLLOW_UPS: Final = (
    "What if I take {count} of the {other} instead?",
    "Could {carrier} bring it to {town} rather than to my door?",
    "I still have {money} of credit. Does that change anything for {order}?",
    "And what about the {other}?",
    "Can it come before {day}?",
    "Are you sure? {carrier} told me something else.",
    "Could you check that again for {order}?",
)


def candidates(names: tuple[str, ...]) -> tuple[ToolCandidate, ...]:
    return tuple(ToolCandidate(name, CATALOG[name]) for name in names)
