import { Hearth, type Rung } from '@hearth/sdk'

/** A client that is killed by its test: creates a sandbox on the server, starts a command, reads some of its output, and stays. */
const [rung = 'process', command = 'true', readBytes = '0'] = process.argv.slice(2)
const sandbox = await new Hearth().create({ rung: rung as Rung, template: 'host' })
const running = await sandbox.spawn(command, { stdin: 'pipe' })
let read = 0
for await (const chunk of running.output) {
  read += chunk.data.length
  if (read >= Number(readBytes)) break
}
process.stdout.write(`${JSON.stringify({ sandbox: sandbox.id, process: running.id })}\n`)
setInterval(() => undefined, 1000)
