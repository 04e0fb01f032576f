"""The answer page: why did the agent say that? `shapes` what it is, `reader` and `operator` how it is made,
`views` its addresses, `parts` its pieces as a live page gets them."""

from .views import urlpatterns

__all__ = ["urlpatterns"]
