import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { once } from 'node:events'
import { parseInput, rungSchema } from '@hearth/contract'
import { Hearth } from '@hearth/engine'

/**
 * A host process that has machines waiting, and is killed by its test, or by itself: before the rename of a claim with this number. What moves
 * a machine from the pool to a sandbox is a row of renames, and nothing else in it can be seen from outside.
 */
const [rung, killedBefore = '0'] = process.argv.slice(2)
const hearth = new Hearth({ pool: { perShape: 2, quietMs: 0 } })
const spec = { rung: parseInput(rungSchema, rung, 'rung'), template: 'host' }
await Promise.all([1, 2].map(async () => await (await hearth.create(spec)).kill()))
await hearth.pool.fill()
process.stdout.write(`${hearth.pool.report().waiting}\n`)
await once(process.stdin, 'data')

let renames = 0
const { renameSync } = fs
fs.renameSync = (from, to) => {
  if (++renames === Number(killedBefore)) process.kill(process.pid, 'SIGKILL')
  renameSync(from, to)
}
syncBuiltinESMExports()

const sandbox = await hearth.create({ ...spec, env: { KEPT: 'yes' } })
process.stdout.write(`${sandbox.id}\n`)
setInterval(() => undefined, 1000)
