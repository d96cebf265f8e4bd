"""Programs that import `pandastack` run on Hearth: put this directory on PYTHONPATH instead of the vendor's package.

The server is that of HEARTH_URL; the key may be in PANDASTACK_API_KEY or PANDASTACK_TOKEN, where such programs have it.
HEARTH_ALLOW says what their sandboxes may reach: names and presets such as `pypi,api.example.com`, or `public`; without it nothing.
HEARTH_TEMPLATES says what their templates are here, where that is something else: `agent=debian,browser=@prepared`; `@` is a snapshot.
"""

import os

import hearth
from hearth import CommandError, HearthError
from hearth import HearthError as PandastackError
from hearth.sandbox import TEMPLATES

__all__ = ["Client", "CommandError", "HearthError", "PandastackError", "Sandbox", "set_default_client"]

# A command may run as long as its call says, or as its sandbox: a week at the most.
LIMITS = {"wallTimeMs": 7 * 24 * 3_600_000}

_default_client = None


class Client(hearth.Client):
    def __init__(self, api_key=None, token=None, api_url=None, **options):
        given = api_key or token or os.environ.get("PANDASTACK_API_KEY") or os.environ.get("PANDASTACK_TOKEN")
        super().__init__(url=api_url, api_key=given, **options)


def set_default_client(client):
    """The client of all sandboxes that are made or found from now on without one."""
    global _default_client
    _default_client = client


class Commands:
    def __init__(self, sandbox):
        self._sandbox = sandbox

    def run(self, command, timeout=None):
        return self._sandbox.exec(command, timeout_seconds=timeout)


class Sandbox(hearth.Sandbox):
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.commands = Commands(self)

    @classmethod
    def create(cls, template="ubuntu-24.04", client=None, **options):
        root = {} if "from_snapshot" in options else _root(template)
        # The vendor's commands are root's: programs make directories wherever they like.
        return super().create(client=client or _client(), **{"user": "root", "limits": LIMITS, **root, **_reach(), **options})

    @classmethod
    def get(cls, sandbox_id, client=None):
        return super().get(sandbox_id, client=client or _client())

    @classmethod
    def list(cls, client=None, **filters):
        return super().list(client=client or _client(), **filters)

    def signed_preview_url(self, port, ttl_seconds=3600):
        return self.url(port, ttl_seconds)


def _client():
    return _default_client or Client()


def _reach():
    words = [word.strip() for word in os.environ.get("HEARTH_ALLOW", "").split(",") if word.strip()]
    if not words:
        return {}
    if words == ["public"]:
        return {"policy": {"mode": "audit"}}
    names = {"allow": [word for word in words if "." in word], "presets": [word for word in words if "." not in word]}
    return {"policy": {key: value for key, value in names.items() if value}}


def _root(template):
    pairs = (entry.partition("=") for entry in os.environ.get("HEARTH_TEMPLATES", "").split(",") if entry)
    here = {name.strip(): meant.strip() for name, _, meant in pairs}
    meant = here.get(template, TEMPLATES.get(template, template))
    return {"from_snapshot": meant[1:]} if meant.startswith("@") else {"template": meant}
