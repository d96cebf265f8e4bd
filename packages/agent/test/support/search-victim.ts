import type { SandboxId } from '@hearth/contract'
import { Hearth } from '@hearth/engine'
import { checks, search } from '../../src/index.ts'

// A search in a process of its own, which its test kills while attempts and judges are under way.

const [id = '', leaseMs = ''] = process.argv.slice(2)

await using hearth = new Hearth({ spareKeepers: 0 })
const base = await hearth.adopt(id as SandboxId)
await search({
  base,
  workdir: '/workspace',
  leaseMs: Number(leaseMs),
  judge: checks({ there: 'test -e there', slow: 'test ! -e there || sleep 600' }),
  candidates: [{ command: 'touch there' }, { command: 'sleep 600' }],
  onProgress: ({ type }) => process.stdout.write(`${type}\n`),
})
