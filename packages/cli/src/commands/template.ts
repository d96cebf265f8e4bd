import type { Template } from '@hearth/sdk'
import { interruptible } from '../interruptible.ts'
import { failureOf, reportFailure } from '../output/failure.ts'
import { presentList, presentOne, type View } from '../output/present.ts'
import { printable } from '../output/printable.ts'
import { Progress } from '../output/progress.ts'
import { write, writeJson } from '../output/write.ts'
import type { ServerOptions } from '../server/with-server.ts'
import { readSecret } from '../terminal/read-secret.ts'
import { withTemplates } from '../server/with-templates.ts'

export interface TemplateOptions extends ServerOptions {
  readonly force?: boolean
  readonly registryUser?: string
}

const templateView: View<Template> = {
  header: ['NAME', 'BUILT', 'DIGEST'],
  id: ({ name }) => name,
  row: ({ name, digest, builtAt }) => [printable(name), builtText(digest, builtAt), digest ?? ''],
}

/** The password of a registry comes from standard input or a prompt: what is on the command line can be seen by everybody on the machine. */
export async function buildTemplate(wanted: string, options: TemplateOptions): Promise<number> {
  const { registryUser: username } = options
  const credentials =
    username === undefined
      ? {}
      : { credentials: { username, password: await readSecret(`password of ${printable(username)}: `) } }
  return await interruptible(async (signal) => {
    using progress = new Progress(options.quiet === true)
    const started = performance.now()
    const onProgress = (line: string): void => progress.say(printable(line))
    const force = options.force === true
    const { name, digest } = await withTemplates(
      options,
      async (templates) => await templates.build(wanted, { force, signal, onProgress, ...credentials }),
    )
    progress.stop()
    const json = { name, digest, durationMs: Math.round(performance.now() - started) }
    await presentOne(options, { id: name, json, people: () => `${printable(name)} ${digest ?? ''}\n` })
    return 0
  })
}

export async function listTemplates(options: TemplateOptions): Promise<number> {
  await presentList(options, await withTemplates(options, async (templates) => await templates.list()), templateView)
  return 0
}

/** One that cannot be removed is reported, and the others are removed all the same. */
export async function removeTemplates(names: readonly string[], options: TemplateOptions): Promise<number> {
  const removed: string[] = []
  await withTemplates(options, async (templates) => {
    for (const name of names) {
      try {
        await templates.remove(name)
        removed.push(name)
        if (options.json !== true) await write(process.stdout, `${name}\n`)
      } catch (error) {
        if (names.length === 1) throw error
        reportFailure(failureOf(error), options.json === true)
      }
    }
  })
  if (options.json === true) await writeJson({ removed })
  return removed.length === names.length ? 0 : 1
}

function builtText(digest: string | null, builtAt: Date | null): string {
  if (builtAt !== null) return builtAt.toISOString().slice(0, 16).replace('T', ' ')
  return digest === null ? 'at first use' : 'always there'
}
