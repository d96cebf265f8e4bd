import { join } from 'node:path'
import { HearthError, type Limits } from '@hearth/contract'
import type { DirectoryTemplate, Progress, Template } from '../../templates/template.ts'
import type { LaunchPlan } from '../launch-plan.ts'
import type { PlanInput, RestoreInput, RuntimeContext } from '../link-runtime.ts'
import { BakeAttempts } from './bake-attempts.ts'
import { bakedMachine, type BakedMachine, type BakeOrder } from './baked-machine.ts'
import { baseImage, baseImageIdentity } from './base-image.ts'
import { capturedFiles } from './capture-machine.ts'
import { emptyMemory } from './empty-memory.ts'
import { machineFacts, type MachineFacts } from './machine-facts.ts'
import { machinePlan, type MachineParts, type MachineSpecification } from './machine-plan.ts'
import { writeMachineRecord } from './machine-record.ts'
import { emptyDisk, UPPER_DISK } from './upper-disk.ts'

/** What differs between the ways to start a machine. */
interface Beginning {
  /** Copied to the upper disk; null when the area has it already. */
  readonly disk: string | null
  readonly memory: string | null
  readonly start: MachineSpecification['start']
}

/** The ways in which a machine of a sandbox begins: it boots, goes on from one that was baked, or from a snapshot. */
export class MachineStarts {
  readonly parts: (context: RuntimeContext) => Promise<MachineParts>
  readonly #attempts = new BakeAttempts()

  constructor(parts: (context: RuntimeContext) => Promise<MachineParts>) {
    this.parts = parts
  }

  async plan(input: PlanInput, context: RuntimeContext): Promise<LaunchPlan> {
    const { template, limits, from } = input.request
    const [parts, base] = await Promise.all([this.parts(context), templateBase(template, context)])
    const { cache } = context.paths
    if (from !== null) requireSameDisk(from.manifest.info.limits, limits)
    const facts = parts.qemu.privateMemory ? await factsOf(parts, base, input.request, context) : null
    const baked = facts === null || from !== null ? null : await this.#bake(parts, base, facts, input, context)
    if (baked !== null) {
      const { memory, state } = capturedFiles(baked.directory)
      const beginning = { disk: baked.disk, memory, start: { kind: 'restore', state } } as const
      return await launch(parts, base, facts, beginning, input, context)
    }
    const beginning = {
      disk: from === null ? await emptyDisk(cache, limits.diskBytes) : null,
      memory: facts === null ? null : await emptyMemory(cache, limits.memoryBytes),
      start: { kind: 'boot', pids: limits.pids },
    } as const
    return await launch(parts, base, facts, beginning, input, context)
  }

  async restore(input: RestoreInput, context: RuntimeContext): Promise<LaunchPlan> {
    const { template } = input.request
    const [parts, base] = await Promise.all([this.parts(context), templateBase(template, context)])
    const { memory, state } = capturedFiles(join(input.from.directory, 'memory'))
    const facts = await factsOf(parts, base, input.request, context)
    const beginning = { disk: null, memory, start: { kind: 'restore', state } } as const
    return await launch(parts, base, facts, beginning, input, context)
  }

  async #bake(
    parts: MachineParts,
    base: string,
    facts: MachineFacts,
    { request }: PlanInput,
    context: RuntimeContext,
  ): Promise<BakedMachine | null> {
    const { limits, volumes } = request
    const template = ownDiskTemplate(request.template)
    const order: BakeOrder = { template, base, limits, facts, volumes: volumes.length > 0 }
    const key = JSON.stringify([context.paths.store, order.template.digest, facts])
    const progress = request.progress ?? silent
    return await this.#attempts.get(
      key,
      () => bakedMachine(parts, order, context, progress),
      (what, error) => {
        progress(`machines of this template boot for now: ${error instanceof Error ? error.message : String(error)}`)
        context.onProblem(`${what} (template ${template.name})`, error)
      },
    )
  }
}

const silent: Progress = () => undefined

/** The disk of a template, made at first use. */
export async function templateBase(
  template: Template,
  context: RuntimeContext,
  progress: Progress = silent,
): Promise<string> {
  return await baseImage(context.paths.cache, ownDiskTemplate(template), context.facts.root, progress)
}

function ownDiskTemplate(template: Template): DirectoryTemplate {
  if (template.kind !== 'host') return template
  throw new HearthError('template_unsupported', 'a microVM has its own disk and cannot show the host’s files', {
    suggestion: 'Use the template `debian`, or an image.',
    context: { template: template.name, rung: 'microvm' },
  })
}

async function factsOf(
  parts: MachineParts,
  base: string,
  { limits, volumes }: PlanInput['request'],
  context: RuntimeContext,
): Promise<MachineFacts> {
  const about = { baseIdentity: (await baseImageIdentity(base)) ?? 'none', volumes: volumes.length > 0 }
  return await machineFacts(parts, limits, about, context.facts)
}

function requireSameDisk(captured: Limits, wanted: Limits): void {
  if (captured.diskBytes === wanted.diskBytes) return
  throw new HearthError(
    'snapshot_incompatible',
    `the disk of the captured machine has ${captured.diskBytes} bytes, and cannot become one of ${wanted.diskBytes}`,
    { context: { different: ['disk size'] } },
  )
}

async function launch(
  parts: MachineParts,
  base: string,
  facts: MachineFacts | null,
  { disk, memory, start }: Beginning,
  { request, disk: area, idBase }: PlanInput,
  context: RuntimeContext,
): Promise<LaunchPlan> {
  const { directory } = request
  const { memoryBytes, cpus } = request.limits
  const upper = { path: join(area.path, UPPER_DISK), from: disk }
  const recorded = facts === null ? null : writeMachineRecord(directory, { memoryBytes, facts })
  const volumes = request.volumes.length === 0 ? null : request.volumes
  const specification = { directory, base, upper, memory, start, volumes, memoryBytes, cpus, idBase }
  const [plan] = await Promise.all([machinePlan(parts, specification, context.facts), recorded])
  return plan
}
