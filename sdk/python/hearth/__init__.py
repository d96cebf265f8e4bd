"""The client of Hearth: sandboxes over HTTP, with the standard library alone."""

from .client import Client
from .errors import CommandError, HearthError
from .results import CodeResult, ExecResult, FileInfo
from .sandbox import Sandbox
from .templates import Templates

__all__ = ["Client", "CodeResult", "CommandError", "ExecResult", "FileInfo", "HearthError", "Sandbox", "Templates"]
