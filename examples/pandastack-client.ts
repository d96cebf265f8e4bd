// A program that was written for PandaStack, with its package as it is. An address and a key are all that changes.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { serve } from '@hearth/server'
import { Sandbox } from '@pandastack/sdk'

// `hearth up` does this; PandaStack's API is on port 7072 then, and the key in ~/.hearth/key.
const home = await mkdtemp(join(tmpdir(), 'hearth-example-'))
const server = await serve({ home, port: 0, logLevel: 'silent', dialects: { pandastack: { port: 0 } } })
Object.assign(process.env, {
  PANDASTACK_API: server.dialects['pandastack'],
  PANDASTACK_API_KEY: server.firstKey?.token,
})

try {
  const sandbox = await Sandbox.create({ template: 'base', ttlSeconds: 60 })
  await sandbox.filesystem.write('/workspace/task.py', 'print(sum(range(101)))')
  console.log('exec:', (await sandbox.exec('python3 /workspace/task.py')).stdout.trim())

  // Three copies of the machine, each of which goes its own way.
  for (const [index, branch] of (await sandbox.forkTree({ count: 3 })).entries()) {
    await branch.exec(`seq ${index + 1} > /workspace/result`)
    console.log(
      `branch ${index + 1}:`,
      (await branch.filesystem.read('/workspace/result')).trim().replaceAll('\n', ' '),
    )
    await branch.kill()
  }
  await sandbox.kill()
} finally {
  await server.stop({ graceMs: 1000 })
  await rm(home, { recursive: true, force: true })
}
