"""What calls give."""

import base64
from dataclasses import dataclass
from typing import Optional


@dataclass(frozen=True)
class ExecResult:
    stdout: str
    stderr: str
    # None when a signal ended it.
    exit_code: Optional[int]
    signal: Optional[str]
    timed_out: bool
    oom: bool
    duration_ms: float
    truncated: bool
    stdout_bytes: bytes
    stderr_bytes: bytes

    @staticmethod
    def of(body):
        return ExecResult(
            stdout=body["stdout"],
            stderr=body["stderr"],
            exit_code=body["exitCode"],
            signal=body["signal"],
            timed_out=body["timedOut"],
            oom=body["oom"],
            duration_ms=body["durationMs"],
            truncated=body["truncated"],
            stdout_bytes=_bytes(body, "stdout"),
            stderr_bytes=_bytes(body, "stderr"),
        )


def _bytes(body, name):
    encoded = body.get(name + "Base64")
    return body[name].encode() if encoded is None else base64.b64decode(encoded)


@dataclass(frozen=True)
class CodeResult:
    stdout: str
    stderr: str
    # The value of the last expression, if there was one.
    text: Optional[str]
    # {"name", "message", "traceback"}, or None.
    error: Optional[dict]
    timed_out: bool
    duration_ms: float

    @property
    def exit_code(self):
        return 0 if self.error is None and not self.timed_out else 1

    @staticmethod
    def of(body):
        error = body.get("error")
        stderr = body["stderr"]
        # As a program that is run would say it.
        if error is not None and not stderr:
            stderr = error["traceback"] or f"{error['name']}: {error['message']}"
        return CodeResult(body["stdout"], stderr, body["text"], error, body["timedOut"], body["durationMs"])


@dataclass(frozen=True)
class FileInfo:
    path: str
    name: str
    type: str
    size: int
    mode: int

    @staticmethod
    def of(body):
        return FileInfo(body["path"], body["name"], body["type"], body["size"], body["mode"])
