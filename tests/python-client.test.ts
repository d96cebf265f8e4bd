import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { ApiProcess } from './support/api-process.ts'

let server: ApiProcess
beforeAll(async () => {
  server = await ApiProcess.start()
})
afterAll(async () => await server[Symbol.asyncDispose]())

/** Runs a program with our client for Python; what it prints last is what it gives. */
async function python(program: string): Promise<unknown> {
  const env = {
    PATH: process.env['PATH'] ?? '',
    ...server.environment,
    PYTHONPATH: join(import.meta.dirname, '../sdk/python'),
    PYTHONDONTWRITEBYTECODE: '1',
  }
  const { stdout } = await promisify(execFile)('python3', ['-c', `import json\nfrom hearth import *\n${program}`], {
    env,
  })
  return JSON.parse(stdout)
}

it('makes a sandbox, works in it, and ends it with its block', async () => {
  const said = await python(`
with Sandbox.create(template="host", rung="process", ttl_seconds=600, metadata={"kind": "test"}, env={"A": "b"}) as sb:
    sb.filesystem.write("/workspace/src/data.txt", "content\\n")
    sb.filesystem.write("/tmp/bytes", bytes(range(256)))
    result = sb.exec("cat /workspace/src/data.txt; echo $A; echo problem >&2; exit 3", timeout_seconds=30)
    code = sb.run_code("x = 20\\nx + 1")
    again = sb.run_code("print(x * 2)")
    wrong = sb.run_code("1 / 0", language="python")
    late = sb.exec("sleep 60", timeout_seconds=0.5)
    out = {
        "stdout": result.stdout, "stderr": result.stderr, "exit": result.exit_code,
        "text": code.text, "again": again.stdout, "wrong": [wrong.exit_code, wrong.error["name"]],
        "late": late.timed_out, "bytes": sb.filesystem.read("/tmp/bytes") == bytes(range(256)),
        "listed": [entry.name for entry in sb.files.list("/workspace/src")],
        "exists": [sb.files.exists("/tmp/bytes"), sb.files.exists("/tmp/none")],
        "input": sb.exec(["cat"], input="given").stdout, "state": sb.info["state"],
    }
    id = sb.id
try:
    Sandbox.get(id)
except HearthError as error:
    out["gone"] = error.code
print(json.dumps(out))`)
  expect(said).toEqual({
    stdout: 'content\nb\n',
    stderr: 'problem\n',
    exit: 3,
    text: '21',
    again: '40\n',
    wrong: [1, 'ZeroDivisionError'],
    late: true,
    bytes: true,
    listed: ['data.txt'],
    exists: [true, false],
    input: 'given',
    state: 'running',
    gone: 'sandbox_not_found',
  })
})

it('forks, snapshots, hibernates and finds again', async () => {
  const said = await python(`
base = Sandbox.create(rung="process", persistent=True, ttl_seconds=600)
with base:
    base.exec("echo one > /tmp/value", check=True)
child = base.fork()
with child:
    child.exec("echo two > /tmp/value", check=True)
    values = [base.exec("cat /tmp/value").stdout, child.exec("cat /tmp/value").stdout]
    changed = [change["path"] for change in child.diff() if change["path"].startswith("/tmp")]
many = base.fork(3)
snapshot = base.snapshot()
with Sandbox.create(from_snapshot=snapshot) as copy:
    copied = copy.exec("cat /tmp/value").stdout
base.hibernate()
asleep = base.info["state"]
woken = base.exec("cat /tmp/value").stdout
base.pause()
base.resume()
base.renew(1200)
listed = sorted(each.id for each in Sandbox.list())
for each in many:
    each.kill()
base.kill()
base.kill()
print(json.dumps({"values": values, "changed": changed, "copied": copied, "asleep": asleep, "woken": woken,
    "listed": listed == sorted([base.id] + [each.id for each in many])}))`)
  expect(said).toEqual({
    values: ['one\n', 'two\n'],
    changed: expect.arrayContaining(['/tmp/value']) as unknown,
    copied: 'one\n',
    asleep: 'hibernated',
    woken: 'one\n',
    listed: true,
  })
})

it('says what is wrong in one shape', async () => {
  const said = await python(`
codes = []
def attempt(call):
    try:
        call()
    except HearthError as error:
        codes.append([error.code, bool(error.message), error.retryable])
attempt(lambda: Sandbox.create(template="no-such-template"))
attempt(lambda: Sandbox.get("sb_00000000000000000000"))
attempt(lambda: Client(api_key="hearth_wrong").json("GET", "/sandboxes"))
attempt(lambda: Client(url="http://127.0.0.1:1").json("GET", "/sandboxes"))
with Sandbox.create(rung="process") as sb:
    attempt(lambda: sb.exec("exit 4", check=True))
    attempt(lambda: sb.files.read("/none"))
print(json.dumps(codes))`)
  expect(said).toEqual([
    ['template_not_found', true, false],
    ['sandbox_not_found', true, false],
    ['unauthorized', true, false],
    ['link_lost', true, true],
    ['command_failed', true, false],
    ['file_not_found', true, false],
  ])
})

it('lists, builds and removes templates', async () => {
  const said = await python(`
templates = Templates()
out = {"names": [each["name"] for each in templates.list()], "built": templates.build("host")["name"]}
try:
    templates.remove("registry.invalid/none:1")
except HearthError as error:
    out["refused"] = error.code
print(json.dumps(out))`)
  expect(said).toMatchObject({
    names: expect.arrayContaining(['debian', 'host']),
    built: 'host',
    refused: 'template_not_found',
  })
})
