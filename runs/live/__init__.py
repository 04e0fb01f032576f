"""One websocket per open page: nudged, it asks the store and sends the fragment."""
