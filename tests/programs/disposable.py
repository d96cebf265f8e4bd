"""A computer for one snippet, which ends with its block."""

from pandastack import Sandbox

CODE = """
import platform, sys
print('hello from', platform.node())
print('python', sys.version_info[0])
"""

with Sandbox.create(template="code-interpreter", ttl_seconds=120) as sbx:
    sbx.filesystem.write("/workspace/cell.py", CODE)
    result = sbx.exec("python3 /workspace/cell.py", timeout_seconds=30)
    print("exit:", result.exit_code)
    print(result.stdout)
