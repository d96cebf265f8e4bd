import { Hearth } from '@hearth/engine'
import { signalNumber } from '../exit-codes.ts'
import { Progress } from '../output/progress.ts'
import { table } from '../output/table.ts'
import { write, writeJson } from '../output/write.ts'

export interface TemplateOptions {
  readonly json?: boolean
  readonly quiet?: boolean
  readonly force?: boolean
}

export async function buildTemplate(name: string, options: TemplateOptions): Promise<number> {
  await using hearth = new Hearth({ spareKeepers: 0 })
  const controller = new AbortController()
  const stop = (signal: NodeJS.Signals): void => controller.abort(signal)
  process.once('SIGINT', stop).once('SIGTERM', stop)
  using progress = new Progress(options.quiet === true)
  try {
    const started = performance.now()
    const template = await hearth.templates.build(name, {
      force: options.force === true,
      signal: controller.signal,
      progress: (line) => progress.say(line),
    })
    progress.stop()
    if (options.json === true) {
      await writeJson({
        name: template.name,
        digest: template.digest,
        durationMs: Math.round(performance.now() - started),
      })
    } else {
      await write(
        process.stdout,
        options.quiet === true ? `${template.name}\n` : `${template.name} ${template.digest}\n`,
      )
    }
    return 0
  } catch (error) {
    if (controller.signal.aborted) return 128 + signalNumber(String(controller.signal.reason))
    throw error
  } finally {
    process.off('SIGINT', stop).off('SIGTERM', stop)
  }
}

export async function listTemplates(options: TemplateOptions): Promise<number> {
  await using hearth = new Hearth({ spareKeepers: 0 })
  const templates = await hearth.templates.list()
  if (options.json === true) {
    await writeJson(templates.map(({ name, digest, builtAt }) => ({ name, digest, builtAt })))
  } else if (options.quiet === true) {
    await write(process.stdout, templates.map(({ name }) => `${name}\n`).join(''))
  } else {
    const rows = templates.map(({ name, digest, builtAt }) => [name, builtText(digest, builtAt), digest ?? ''])
    await write(process.stdout, table([['NAME', 'BUILT', 'DIGEST'], ...rows]))
  }
  return 0
}

export async function removeTemplates(names: readonly string[], options: TemplateOptions): Promise<number> {
  await using hearth = new Hearth({ spareKeepers: 0 })
  for (const name of names) {
    await hearth.removeTemplate(name)
    if (options.json !== true) await write(process.stdout, `${name}\n`)
  }
  if (options.json === true) await writeJson({ removed: names })
  return 0
}

function builtText(digest: string | null, builtAt: Date | null): string {
  if (builtAt !== null) return builtAt.toISOString().slice(0, 16).replace('T', ' ')
  return digest === null ? 'at first use' : 'always there'
}
