"""Reading: one file a page, with its dataclass, its builder and its view."""
