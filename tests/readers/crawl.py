"""A reader's browser that opens everything it can find: links, forms and htmx attributes, to the last page."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise, product
from urllib.parse import urlencode, urljoin, urlsplit

from bs4 import BeautifulSoup
from django.test import Client

from tests.readers.look import Look

FOLLOWED = ("href", "src", "action", "hx-get", "data-href", "hx-post", "formaction")
MOST_PAGES = 3_000


@dataclass
class Crawl:
    client: Client
    look: Look
    seen: set[str] = field(default_factory=set)
    statuses: dict[str, int] = field(default_factory=dict)

    def walk(self, start: str) -> None:
        waiting = [start]
        while waiting and len(self.seen) < MOST_PAGES:
            url = waiting.pop()
            if url in self.seen:
                continue
            self.seen.add(url)
            for headers in ({}, {"HX-Request": "true"}):
                response = self.client.get(url, headers=headers)
                self.statuses[url] = response.status_code
                body = b"".join(response.streaming_content) if response.streaming else response.content
                text = body.decode("utf-8", "replace")
                self.look.at_page(f"{url} {headers}", text)
                for name, value in response.headers.items():
                    self.look.at_words(f"{url} header {name}", f"{name}: {value}")
                for cookie in response.cookies.values():
                    self.look.at_words(f"{url} cookie", cookie.OutputString())
                if "html" in response.get("Content-Type", ""):
                    waiting.extend(link for link in links(url, text) if link not in self.seen)
                if response.status_code in (301, 302):
                    waiting.append(urljoin(url, response["Location"]))


def links(url: str, text: str) -> Iterator[str]:
    """Every address of the same site that this page names; forms with each choice of their selects."""
    soup = BeautifulSoup(text, "html.parser")
    for attribute in FOLLOWED:
        for element in soup.select(f"[{attribute}]"):
            if element.name == "form" and element.get("method", "get").lower() != "get":
                continue
            yield from _own(url, str(element[attribute]))
    for form in soup.select("form"):
        if str(form.get("method", "get")).lower() == "get":
            yield from _submissions(url, form)


def _submissions(url: str, form: BeautifulSoup) -> Iterator[str]:
    action = urljoin(url, str(form.get("action") or urlsplit(url).path))
    fixed = {str(i["name"]): str(i.get("value", "")) for i in form.select("input[name][type=hidden]")}
    options = [
        [(str(select["name"]), str(option.get("value", option.text))) for option in select.select("option")]
        for select in form.select("select[name]")
    ]
    options += [
        [(str(box["name"]), ""), (str(box["name"]), str(box.get("value", "on")))]
        for box in form.select("input[type=checkbox][name]")
    ]
    for one in options:
        for name, value in one:
            yield from _own(url, f"{action}?{urlencode({**fixed, name: value})}")
    for first, second in pairwise(options):
        for a, b in list(product(first, second))[:12]:
            yield from _own(url, f"{action}?{urlencode({**fixed, a[0]: a[1], b[0]: b[1]})}")


def _own(url: str, link: str) -> Iterator[str]:
    split = urlsplit(urljoin(url, link))
    if split.netloc in ("", "testserver") and split.scheme in ("", "http") and "log-out" not in split.path:
        yield split.path + (f"?{split.query}" if split.query else "")
