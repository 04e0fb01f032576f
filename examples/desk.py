"""What both examples are about: a help desk's tools, invented, and what the app calls them."""

from __future__ import annotations


def lookup_order(number: str) -> str:
    """Looks up one order by its number: what was bought and when it ships."""
    return f"Order {number}: a red chair, shipped yesterday."


def track_parcel(number: str) -> str:
    """Where the parcel of an order is now."""
    return f"The parcel of {number} is in Bergen."


def issue_refund(number: str) -> str:
    """Pays the money of an order back to the customer."""
    return f"{number} was paid back."


def search_catalog(words: str) -> str:
    """Searches products by name, size, colour and price."""
    return f"Two products match {words}."


TOOLS = (lookup_order, track_parcel, issue_refund, search_catalog)
WORDS = {
    "lookup_order": "looking up the order",
    "track_parcel": "tracking the parcel",
    "issue_refund": "refunding the customer",
    "search_catalog": "searching the catalogue",
}
