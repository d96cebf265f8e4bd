"""One prepared computer, a copy of it for each attempt, all at once; what passes its test is kept."""

import concurrent.futures as cf

from pandastack import Sandbox

base = Sandbox.create(template="code-interpreter", persistent=True, ttl_seconds=1800)
base.exec("git init -q /workspace/repo && cd /workspace/repo && printf 'def add(a, b):\\n    return a - b\\n' > lib.py")
base.exec("cd /workspace/repo && printf 'from lib import add\\nassert add(2, 3) == 5\\n' > check.py", timeout_seconds=300)


def patch_of(line):
    return f"--- a/lib.py\n+++ b/lib.py\n@@ -1,2 +1,2 @@\n def add(a, b):\n-    return a - b\n+    return {line}\n"


def try_patch(patch):
    child = base.fork()
    try:
        child.filesystem.write("/workspace/repo/fix.patch", patch)
        child.exec("cd /workspace/repo && git apply fix.patch")
        r = child.exec("cd /workspace/repo && python3 check.py", timeout_seconds=120)
        return {"patch": patch, "passed": r.exit_code == 0, "out": r.stdout[-1000:]}
    finally:
        child.kill()


candidates = [patch_of(line) for line in ["a * a", "a + b", "b", "a + a", "0"]]
with cf.ThreadPoolExecutor(max_workers=5) as pool:
    results = list(pool.map(try_patch, candidates))
unchanged = base.exec("cd /workspace/repo && git status --porcelain fix.patch").stdout
base.kill()
winners = [r["patch"] for r in results if r["passed"]]
print(f"{len(winners)}/5 passed; base {'unchanged' if unchanged == '' else 'changed'}")
