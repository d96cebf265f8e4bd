// A program in a sandbox makes a sandbox of its own with the client for Python, within what it was granted, and never sees a key.
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Hearth } from '@hearth/sdk'
import { serve } from '@hearth/server'

const PROGRAM = `
from hearth import HearthError, Sandbox

with Sandbox.create(metadata={"task": "count"}) as child:
    print("a child says:", child.exec("seq 4 | wc -l").stdout.strip())
    try:
        Sandbox.create()
    except HearthError as error:
        print("a second one:", error.code)
try:
    Sandbox.create(policy={"allow": ["example.com"]})
except HearthError as error:
    print("a name that was not granted:", error.code)
`

const home = await mkdtemp(join(tmpdir(), 'hearth-example-'))
const server = await serve({ home, port: 0, logLevel: 'silent' })
try {
  const hearth = new Hearth({ url: server.url, apiKey: (await readFile(join(home, 'key'), 'utf8')).trim() })
  await using sandbox = await hearth.create({ delegate: { children: 1 } })
  const client = join(import.meta.dirname, '../sdk/python/hearth')
  for (const name of (await readdir(client)).filter((each) => each.endsWith('.py')))
    await sandbox.files.write(`/tmp/client/hearth/${name}`, await readFile(join(client, name)), { parents: true })
  const { stdout, stderr } = await sandbox.exec(['python3', '-c', PROGRAM], { env: { PYTHONPATH: '/tmp/client' } })
  process.stdout.write(stdout)
  process.stderr.write(stderr)
} finally {
  await server.stop({ graceMs: 1000 })
  await rm(home, { recursive: true, force: true })
}
