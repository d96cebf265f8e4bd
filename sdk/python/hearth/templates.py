"""The roots that sandboxes start from."""

import urllib.parse

from .client import Client


class Templates:
    """The templates of the server's host. To build and remove them needs a key with the scope `operator`."""

    def __init__(self, client=None):
        self._client = client or Client()

    def list(self):
        """All that the key may see, by name: `name`, `digest` and `builtAt`."""
        cursor = None
        while True:
            page = self._client.json("GET", "/templates", query={"cursor": cursor})
            yield from page["items"]
            cursor = page["next"]
            if cursor is None:
                return

    def build(self, name, force=False):
        """Builds or pulls a template now, or with `force` anew; waits until it is there."""
        return self._client.json("POST", "/templates", {"name": name, "force": force}, timeout=1800, repeatable=not force)

    def remove(self, name):
        """Refused with `template_in_use` while a sandbox or a snapshot lies on it."""
        self._client.bytes("DELETE", "/templates/" + urllib.parse.quote(name, safe=""))
