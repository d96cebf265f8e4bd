import { PRESET_NAMES, type PresetName } from '@hearth/contract'
import { effectivePolicy, learnPolicy } from '@hearth/engine/policy'
import { HearthError, type Hearth, type HearthEvent, type Policy, type PolicyView } from '@hearth/sdk'
import { policyOf, type PolicyOptions } from '../options/policy-options.ts'
import { printable } from '../output/printable.ts'
import { write, writeJson } from '../output/write.ts'
import { findSandbox } from '../server/find-sandbox.ts'
import { withServer, type ServerOptions } from '../server/with-server.ts'

const PAGE = 1000

/** What is in force: of a sandbox, or in a preset. A policy is JSON for people too: it goes back into `--policy`. */
export async function showPolicy(
  name: string | undefined,
  options: ServerOptions & { readonly preset?: string },
): Promise<number> {
  if ((name === undefined) === (options.preset === undefined)) {
    throw new HearthError('invalid_request', 'name either a sandbox or a preset', {
      suggestion: `Presets are ${PRESET_NAMES.join(', ')}.`,
    })
  }
  if (options.preset !== undefined) {
    await show(effectivePolicy({ presets: [options.preset as PresetName] }), options)
    return 0
  }
  const view = await withServer(options, async (hearth) => await (await findSandbox(hearth, name ?? '')).policy())
  await showView(view, options)
  return 0
}

export async function setPolicy(name: string, options: ServerOptions & PolicyOptions): Promise<number> {
  const policy = policyOf(options)
  if (policy === undefined) {
    throw new HearthError('invalid_request', 'nothing was said', {
      suggestion: 'Use --allow, --preset, --policy or --proxy.',
    })
  }
  const view = await withServer(options, async (hearth) => {
    const sandbox = await findSandbox(hearth, name)
    return await sandbox.setPolicy(policy)
  })
  await showView(view, options)
  return 0
}

async function showView(view: PolicyView, options: ServerOptions): Promise<void> {
  await show(options.json === true ? view : view.effective, options)
  if (options.json === true || options.quiet === true) return
  for (const { secret } of view.secrets) process.stderr.write(`it uses the secret ${secret}\n`)
}

/** The smallest policy that would have allowed what a sandbox did. What no rule can say exactly is told beside it. */
export async function learn(name: string, options: ServerOptions): Promise<number> {
  const { policy, notes } = await withServer(options, async (hearth) => {
    const id = /^sb_.{20}$/.test(name) ? name : (await findSandbox(hearth, name)).id
    return learnPolicy(await everything(hearth, id), await policyNow(hearth, id))
  })
  await show(options.json === true ? { policy, notes } : policy, options)
  if (options.quiet !== true) for (const note of notes) process.stderr.write(`note: ${printable(note)}\n`)
  return 0
}

async function everything(hearth: Hearth, sandbox: string): Promise<HearthEvent[]> {
  const events: HearthEvent[] = []
  for (let after = 0; ;) {
    const page = await hearth.eventPage({ sandbox, after, limit: PAGE })
    events.push(...page.items)
    if (page.items.length < PAGE) return events
    after = page.next
  }
}

/** Of one that has ended the record is all that there is. */
async function policyNow(hearth: Hearth, id: string): Promise<Policy> {
  try {
    return (await (await hearth.get(id)).policy()).policy
  } catch (error) {
    if (HearthError.isInstance(error) && (error.code === 'sandbox_not_found' || error.code === 'sandbox_ended'))
      return {}
    throw error
  }
}

async function show(value: object, options: ServerOptions): Promise<void> {
  if (options.json === true) await writeJson(value)
  else await write(process.stdout, `${JSON.stringify(value, null, 2)}\n`)
}
