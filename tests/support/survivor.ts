import { parseInput, rungSchema } from '@hearth/contract'
import { Hearth } from '@hearth/engine'

/** A host process that is killed by its test: creates a sandbox, starts a command, reads some of its output, and stays. */
const [rung, template = 'host', command = 'true', readBytes = '0'] = process.argv.slice(2)
const hearth = new Hearth()
const sandbox = await hearth.create({ rung: parseInput(rungSchema, rung, 'rung'), template })
const running = await sandbox.spawn(command, { stdin: 'pipe' })
let read = 0
for await (const chunk of running.output) {
  read += chunk.data.length
  if (read >= Number(readBytes)) break
}
process.stdout.write(`${JSON.stringify({ sandbox: sandbox.id, process: running.id })}\n`)
setInterval(() => undefined, 1000)
