"""The shortest of all."""

from pandastack import Sandbox

sbx = Sandbox.create(template="agent", ttl_seconds=900)
result = sbx.exec("python -c 'print(2 + 2)'")
print(result.stdout)
print(result.exit_code)
