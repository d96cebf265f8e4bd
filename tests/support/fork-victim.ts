import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseInput, rungSchema } from '@hearth/contract'
import { collectGarbage, Hearth } from '@hearth/engine'

/** A host process that is killed by its test in the middle of what it does to a sandbox, which it begins when it is told to. */
const [rung, template = 'host', what = 'fork'] = process.argv.slice(2)
const hearth = new Hearth()
const parent = await hearth.create({ rung: parseInput(rungSchema, rung, 'rung'), template })
await parent.exec('echo kept > /tmp/kept')
if (what === 'wake') await parent.hibernate()
if (what === 'restore') {
  await parent.snapshot({ name: 'victim' })
  // After the first restore gVisor has containers waiting for the next ones.
  await (await hearth.create({ from: 'victim' })).kill()
  await hearth.warm()
  await sleep(1000)
}
process.stdout.write(`${parent.id}\n`)
await once(process.stdin, 'data')
if (what === 'fork') await parent.fork(3)
else if (what === 'hibernate') await parent.hibernate()
else if (what === 'wake') await hearth.wake(parent.id)
else if (what === 'restore') await hearth.create({ from: 'victim' })
else if (what === 'gc') await collectGarbage(hearth)
else await parent.snapshot({ name: 'victim' })
process.stdout.write('done\n')
setInterval(() => undefined, 1000)
