"""Requests to a Hearth server."""

import http.client
import json
import os
import pathlib
import time
import urllib.parse

from .errors import HearthError

DEFAULT_URL = "http://127.0.0.1:7070"
# Longer than the server lets a call wait without a word.
DEFAULT_TIMEOUT = 120
ATTEMPTS = 3


class Client:
    """`url` and `api_key`, or HEARTH_URL and HEARTH_API_KEY, or the key that the server of this machine keeps in HEARTH_HOME."""

    def __init__(self, url=None, api_key=None, timeout=DEFAULT_TIMEOUT):
        self.url = (url or os.environ.get("HEARTH_URL") or DEFAULT_URL).rstrip("/")
        parsed = urllib.parse.urlsplit(self.url)
        if parsed.scheme not in ("http", "https") or not parsed.hostname:
            raise ValueError(f"{self.url} is not an http or https address")
        self._parsed = parsed
        self._timeout = timeout
        self.api_key = api_key or os.environ.get("HEARTH_API_KEY") or self._kept_key()

    def _kept_key(self):
        # The key of this home opens everything of its server, so that it is never sent to another machine.
        if self._parsed.hostname not in ("127.0.0.1", "::1", "localhost"):
            return ""
        home = os.environ.get("HEARTH_HOME") or os.path.join(os.path.expanduser("~"), ".hearth")
        try:
            return pathlib.Path(home, "key").read_text().strip()
        except OSError:
            return ""

    def json(self, method, path, body=None, query=None, headers=None, timeout=None, repeatable=None):
        """Parsed JSON, or None for an answer without a body."""
        data = None if body is None else json.dumps(body).encode()
        sent = {"content-type": "application/json"} if data is not None else {}
        answer = self.bytes(method, path, data, query, {**sent, **(headers or {})}, timeout, repeatable)
        return json.loads(answer) if answer.strip() else None

    def bytes(self, method, path, data=None, query=None, headers=None, timeout=None, repeatable=None):
        """The raw answer. Only what may be done twice is sent again when the connection breaks or the server asks to wait."""
        if repeatable is None:
            repeatable = method == "GET"
        for attempt in range(ATTEMPTS):
            last = attempt == ATTEMPTS - 1 or not repeatable
            try:
                return self._once(method, path, data, query, headers or {}, timeout)
            except HearthError as error:
                if last or not error.retryable:
                    raise
            except (OSError, http.client.HTTPException) as error:
                if last:
                    message = f"no answer from {self.url}: {error}"
                    raise HearthError("link_lost", message, "Start a server with `hearth up`, or set HEARTH_URL.", True) from error
            time.sleep(0.2 * 2**attempt)
        raise AssertionError("unreachable")

    def _once(self, method, path, data, query, headers, timeout):
        kind = http.client.HTTPSConnection if self._parsed.scheme == "https" else http.client.HTTPConnection
        connection = kind(self._parsed.hostname, self._parsed.port, timeout=timeout or self._timeout)
        target = self._parsed.path + "/v1" + path
        if query:
            target += "?" + urllib.parse.urlencode({key: value for key, value in query.items() if value is not None})
        authorization = {"authorization": f"Bearer {self.api_key}"} if self.api_key else {}
        try:
            connection.request(method, target, body=data, headers={**authorization, **headers})
            response = connection.getresponse()
            answer = response.read()
        finally:
            connection.close()
        # An answer that took long has its status first, and may still be an error.
        if response.status >= 400 or answer.lstrip().startswith(b'{"error"'):
            raise _failure(response.status, answer)
        return answer


def _failure(status, answer):
    try:
        error = json.loads(answer)["error"]
        return HearthError(
            error["code"],
            error["message"],
            error.get("suggestion", ""),
            error.get("retryable", False),
            error.get("context"),
            error.get("requestId"),
            status,
        )
    except (ValueError, KeyError, TypeError):
        return HearthError("internal", f"the server answered {status}: {answer[:200]!r}", status=status)
