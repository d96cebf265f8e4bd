"""What goes wrong, in one shape."""


class HearthError(Exception):
    """`code` says what it is; `suggestion` what to do about it; `retryable` whether the same call may succeed later."""

    def __init__(self, code, message, suggestion="", retryable=False, context=None, request_id=None, status=None):
        super().__init__(message)
        self.code = code
        self.message = message
        self.suggestion = suggestion
        self.retryable = retryable
        self.context = context or {}
        self.request_id = request_id
        self.status = status

    def __str__(self):
        return f"{self.code}: {self.message}" + (f" {self.suggestion}" if self.suggestion else "")


class CommandError(HearthError):
    """A command that was to be checked ended with another exit code than 0."""

    def __init__(self, result):
        super().__init__("command_failed", f"the command ended with {result.exit_code}: {result.stderr[-500:]}")
        self.result = result
        self.exit_code = result.exit_code
        self.stdout = result.stdout
        self.stderr = result.stderr
