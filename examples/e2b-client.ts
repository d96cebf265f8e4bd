// A program that was written for E2B, with its packages as they are. Two addresses and a key are all that changes.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Sandbox } from '@e2b/code-interpreter'
import { serve } from '@hearth/server'

// `hearth up` does this; E2B's API is on port 7071 then, and the key in ~/.hearth/key.
const home = await mkdtemp(join(tmpdir(), 'hearth-example-'))
const server = await serve({ home, port: 0, logLevel: 'silent', dialects: { e2b: { port: 0 } } })
const { e2b = '' } = server.dialects
Object.assign(process.env, { E2B_API_URL: e2b, E2B_SANDBOX_URL: e2b, E2B_API_KEY: server.firstKey?.token })

try {
  const sandbox = await Sandbox.create('base', { timeoutMs: 60_000 })
  await sandbox.files.write('numbers.txt', '3\n1\n2\n')
  console.log('sorted:', (await sandbox.commands.run('sort numbers.txt | tr "\\n" " "')).stdout)

  await sandbox.runCode('total = sum(int(line) for line in open("/home/user/numbers.txt"))')
  console.log('kept between cells:', (await sandbox.runCode('total')).text)

  const [copy] = await sandbox.fork({ count: 1 })
  if (!(copy instanceof Sandbox)) throw new Error('the fork failed', { cause: copy })
  await copy.files.write('numbers.txt', 'changed in the copy')
  console.log('here it is as it was:', JSON.stringify(await sandbox.files.read('numbers.txt')))
  await Promise.all([copy.kill(), sandbox.kill()])
} finally {
  await server.stop({ graceMs: 1000 })
  await rm(home, { recursive: true, force: true })
}
