"""One computer for a task: what is installed and written in one step is there in the next."""

from pandastack import Sandbox


class AgentSandbox:
    def __init__(self, template="code-interpreter"):
        self.sbx = Sandbox.create(template=template, persistent=True, ttl_seconds=900)
        self._step = 0

    def run_code(self, code):
        self._step += 1
        path = f"/workspace/step_{self._step}.py"
        self.sbx.filesystem.write(path, code)
        r = self.sbx.exec(f"python3 {path}", timeout_seconds=60)
        return {"exit_code": r.exit_code, "stdout": r.stdout[-4000:], "stderr": r.stderr[-2000:]}

    def close(self):
        self.sbx.kill()


# What a model would say, step by step.
STEPS = ["open('/workspace/notes', 'w').write('kept')", "print(open('/workspace/notes').read())", "raise SystemExit(3)"]

env = AgentSandbox()
try:
    for step in STEPS:
        print(env.run_code(step))
finally:
    env.close()
