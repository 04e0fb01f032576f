"""The site: settings, urls, asgi, the server. It knows every room; no room knows it."""
