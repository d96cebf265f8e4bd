"""A tool for a model: a fresh computer for each call, or one for a conversation."""

from pandastack import Sandbox


def run_code(code):
    with Sandbox.create(template="code-interpreter", ttl_seconds=600) as sb:
        result = sb.run_code(code, language="python")
        out = result.stdout
        if result.exit_code != 0:
            out += f"\n[exit {result.exit_code}] {result.stderr}"
        return out.strip() or "(no output)"


print(run_code("print(sum(range(101)))"))
print(run_code("value = 1"))
print(run_code("1 / 0").splitlines()[-1])

sb = Sandbox.create(template="code-interpreter", ttl_seconds=1800)
try:
    for code in ["total = 40", "print(total + 2)"]:
        r = sb.run_code(code, language="python")
        print((r.stdout + (r.stderr if r.exit_code else "")).strip())
finally:
    sb.kill()
