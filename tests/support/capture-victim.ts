import { Hearth } from '@hearth/engine'

/**
 * A host process that is killed by its test in the middle of what it does: `bake MEMORY` boots a microVM of a size that nobody has asked for
 * before, so that others could go on from it; `snapshot RUNG` and `hibernate RUNG` capture a sandbox whose memory is large enough to be met at it.
 */
const [what = '', detail = ''] = process.argv.slice(2)
const hearth = new Hearth({ spareKeepers: 0 })
if (what === 'bake') {
  await hearth.create({ rung: 'microvm', template: 'debian', limits: { memoryBytes: Number(detail) } })
} else {
  const rung = detail === 'gvisor' ? 'gvisor' : 'microvm'
  const parent = await hearth.create({ rung, template: rung === 'gvisor' ? 'host' : 'debian' })
  await parent.exec('echo kept > /tmp/kept; head -c 60000000 /dev/urandom > /dev/shm/much', { timeoutMs: 60_000 })
  process.stdout.write(`${parent.id}\n`)
  if (what === 'hibernate') await parent.hibernate({ memory: 'required' })
  else await parent.snapshot({ name: `victim-${process.pid}`, memory: 'required' })
}
process.stdout.write('done\n')
setInterval(() => undefined, 1000)
