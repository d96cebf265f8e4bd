import { interruptible } from '../interruptible.ts'
import type { CreateOptions } from '../options/create-options.ts'
import { invocation } from '../output/invocation.ts'
import { presentOne } from '../output/present.ts'
import { printable } from '../output/printable.ts'
import { Progress } from '../output/progress.ts'
import { restoredText, sandboxView } from '../output/sandbox-view.ts'
import { table } from '../output/table.ts'
import { findCreateSpec } from '../server/find-create-spec.ts'
import { withServer, type ServerOptions } from '../server/with-server.ts'

/** A sandbox that stays until its deadline, or until it is removed. */
export async function create(options: CreateOptions & ServerOptions): Promise<number> {
  return await interruptible(async (signal) => {
    await withServer(options, async (hearth) => {
      using progress = new Progress(options.quiet === true || !process.stderr.isTTY)
      progress.say('creating a sandbox')
      const onProgress = (line: string): void => progress.say(printable(line))
      const spec = await findCreateSpec(hearth, options, { signal })
      const { details } = await hearth.create(spec, { signal, ...(progress.shown ? { onProgress } : {}) })
      progress.stop()
      const people = (): string => table([sandboxView.header, sandboxView.row(details)])
      await presentOne(options, { id: details.id, json: details, people })
      if (details.restored !== null && options.json !== true && options.quiet !== true)
        process.stderr.write(`From the snapshot: ${restoredText(details.restored)}.\n`)
      if (process.stdout.isTTY && options.json !== true && options.quiet !== true) {
        process.stderr.write(`\nUse it:    ${invocation()} exec ${details.id} -- COMMAND\n`)
        process.stderr.write(`Remove it: ${invocation()} rm ${details.id}\n`)
      }
    })
    return 0
  })
}
