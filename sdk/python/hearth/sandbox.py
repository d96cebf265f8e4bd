"""One isolated computer."""

import base64
import urllib.parse
import uuid

from .client import Client
from .errors import CommandError, HearthError
from .results import CodeResult, ExecResult, FileInfo

# What other vendors' programs ask for, in our words.
TEMPLATES = {"ubuntu-24.04": "debian", "base": "debian", "agent": "code-interpreter"}
LANGUAGES = {"shell": "bash", "sh": "bash", "node": "javascript", "js": "javascript"}


class Filesystem:
    def __init__(self, sandbox):
        self._sandbox = sandbox

    def write(self, path, content):
        """Replaces the file; directories above it are made."""
        data = content.encode() if isinstance(content, str) else bytes(content)
        headers = {"content-type": "application/octet-stream"}
        self._sandbox._client.bytes("PUT", self._path("/files"), data, {"path": path, "parents": "true"}, headers, repeatable=True)

    def read(self, path):
        """The bytes of a file."""
        return self._sandbox._client.bytes("GET", self._path("/files"), query={"path": path})

    def read_text(self, path):
        return self.read(path).decode()

    def list(self, path):
        items = self._sandbox._client.json("GET", self._path("/files/list"), query={"path": path})["items"]
        return [FileInfo.of(item) for item in items]

    def stat(self, path):
        return FileInfo.of(self._sandbox._client.json("GET", self._path("/files/stat"), query={"path": path}))

    def exists(self, path):
        try:
            self.stat(path)
        except HearthError as error:
            if error.code in ("file_not_found", "not_a_directory"):
                return False
            raise
        return True

    def remove(self, path, recursive=False):
        query = {"path": path, "recursive": "true" if recursive else None}
        self._sandbox._client.bytes("DELETE", self._path("/files"), query=query)

    def _path(self, rest):
        return self._sandbox._path + rest


class Sandbox:
    """Made by `Sandbox.create` or `Sandbox.get`. As a context manager it ends with its block, unless it is persistent."""

    def __init__(self, client, view, persistent=False):
        self._client = client
        self._view = view
        self._persistent = persistent
        self._path = "/sandboxes/" + urllib.parse.quote(view["id"], safe="")
        self.id = view["id"]
        self.filesystem = Filesystem(self)
        self.files = self.filesystem

    @classmethod
    def create(cls, template=None, ttl_seconds=None, persistent=False, metadata=None, env=None, client=None, **options):
        """A new sandbox. `persistent` with `ttl_seconds`: it outlives its block, until then; without: until it is killed.
        Other options are those of the HTTP API, such as `rung`, `atLeast`, `limits`, `policy` or `from_snapshot`."""
        request = {key: value for key, value in options.items() if value is not None}
        if "from_snapshot" in request:
            request["from"] = request.pop("from_snapshot")
        elif template is not None:
            request["template"] = TEMPLATES.get(template, template)
        if ttl_seconds is not None:
            request["ttlMs"] = int(ttl_seconds * 1000)
        elif persistent:
            request["persistent"] = True
        if metadata:
            request["metadata"] = {str(key): str(value) for key, value in metadata.items()}
        if env:
            request["env"] = env
        client = client or Client()
        headers = {"idempotency-key": str(uuid.uuid4())}
        view = client.json("POST", "/sandboxes", request, headers=headers, timeout=1800, repeatable=True)
        return cls(client, view, persistent)

    @classmethod
    def get(cls, sandbox_id, client=None):
        client = client or Client()
        return cls(client, client.json("GET", "/sandboxes/" + urllib.parse.quote(sandbox_id, safe="")), persistent=True)

    @classmethod
    def list(cls, client=None, **filters):
        """All that there are, page by page. Filters are those of the HTTP API: `state`, `rung`, and metadata as `{"metadata.KEY": VALUE}`."""
        client = client or Client()
        cursor = None
        while True:
            page = client.json("GET", "/sandboxes", query={**filters, "cursor": cursor})
            for view in page["items"]:
                yield cls(client, view, persistent=True)
            cursor = page["next"]
            if cursor is None:
                return

    @property
    def info(self):
        """As the server tells it now."""
        self._view = self._client.json("GET", self._path)
        return self._view

    def exec(self, command, timeout_seconds=None, cwd=None, env=None, user=None, input=None, check=False):
        """Runs a shell command, or a list of words without a shell, to its end. With `check`, another exit code than 0 is an error."""
        request = {"command": command, "cwd": cwd, "env": env, "user": user}
        if timeout_seconds is not None:
            request["timeoutMs"] = max(1, int(timeout_seconds * 1000))
        if input is not None:
            request["input"] = base64.b64encode(input.encode() if isinstance(input, str) else input).decode()
        body = {key: value for key, value in request.items() if value is not None}
        patience = 24 * 3600 if timeout_seconds is None else timeout_seconds + 60
        result = ExecResult.of(self._client.json("POST", self._path + "/exec", body, timeout=patience))
        if check and result.exit_code != 0:
            raise CommandError(result)
        return result

    def run_code(self, code, language="python", timeout_seconds=None, context=None):
        """Runs code in an interpreter whose variables last from call to call."""
        request = {"code": code, "language": LANGUAGES.get(language, language), "context": context}
        if timeout_seconds is not None:
            request["timeoutMs"] = max(1, int(timeout_seconds * 1000))
        body = {key: value for key, value in request.items() if value is not None}
        patience = 24 * 3600 if timeout_seconds is None else timeout_seconds + 60
        return CodeResult.of(self._client.json("POST", self._path + "/code", body, timeout=patience))

    def fork(self, count=None, memory=None, env=None, metadata=None):
        """A copy of it as it is now; with `count` a list of so many."""
        request = {"count": count or 1, "memory": memory, "env": env, "metadata": metadata}
        body = {key: value for key, value in request.items() if value is not None}
        headers = {"idempotency-key": str(uuid.uuid4())}
        view = self._client.json("POST", self._path + "/fork", body, headers=headers, timeout=600, repeatable=True)
        children = [type(self)(self._client, child) for child in view["children"]]
        return children if count is not None else children[0]

    def snapshot(self, name=None):
        """Captures it as it is now, and gives the snapshot's id for `Sandbox.create(from_snapshot=...)`."""
        headers = {"idempotency-key": str(uuid.uuid4())}
        body = {} if name is None else {"name": name}
        return self._client.json("POST", self._path + "/snapshots", body, headers=headers, timeout=600, repeatable=True)["id"]

    def diff(self, since=None):
        """What changed in its files: dictionaries with `path`, `change`, `type` and `sizeBytes`."""
        return self._client.json("GET", self._path + "/diff", query={"since": since})["items"]

    def url(self, port, ttl_seconds=3600):
        """A link to a port inside that needs no key, until it expires."""
        body = {"ttlMs": int(ttl_seconds * 1000)}
        return self._client.json("POST", f"{self._path}/ports/{int(port)}/link", body)["url"]

    def renew(self, ttl_seconds):
        self._view = self._client.json("POST", self._path + "/renew", {"ttlMs": int(ttl_seconds * 1000)})

    def pause(self):
        self._view = self._client.json("POST", self._path + "/pause")

    def resume(self):
        self._view = self._client.json("POST", self._path + "/resume")

    def hibernate(self):
        self._view = self._client.json("POST", self._path + "/hibernate", {}, timeout=600)

    def wake(self):
        self._view = self._client.json("POST", self._path + "/wake", {}, timeout=600)

    def kill(self):
        """Ends it and everything in it. Idempotent."""
        self._client.bytes("DELETE", self._path, repeatable=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if not self._persistent:
            self.kill()
