import { Interrupts } from '../interrupts.ts'
import { createSpecOf, type CreateOptions } from '../options/create-options.ts'
import { signalNumber } from '../exit-codes.ts'
import { invocation } from '../output/invocation.ts'
import { presentOne } from '../output/present.ts'
import { Progress } from '../output/progress.ts'
import { sandboxView } from '../output/sandbox-view.ts'
import { table } from '../output/table.ts'
import { withServer, type ServerOptions } from '../server/with-server.ts'

/** A sandbox that stays until its deadline, or until it is removed. */
export async function create(options: CreateOptions & ServerOptions): Promise<number> {
  using interrupts = new Interrupts()
  try {
    await withServer(options, async (hearth) => {
      using progress = new Progress(options.quiet === true || !process.stderr.isTTY)
      progress.say('creating a sandbox')
      const { details } = await hearth.create(createSpecOf(options), { signal: interrupts.signal })
      progress.stop()
      const people = (): string => table([sandboxView.header, sandboxView.row(details)])
      await presentOne(options, { id: details.id, json: details, people })
      if (process.stdout.isTTY && options.json !== true && options.quiet !== true) {
        process.stderr.write(`\nUse it:    ${invocation()} exec ${details.id} -- COMMAND\n`)
        process.stderr.write(`Remove it: ${invocation()} rm ${details.id}\n`)
      }
    })
  } catch (error) {
    if (interrupts.received !== null) return 128 + signalNumber(interrupts.received)
    throw error
  }
  return 0
}
