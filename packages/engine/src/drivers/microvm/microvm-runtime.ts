import type { Progress, Template } from '../../templates/template.ts'
import type { Capabilities, Probe } from '../driver.ts'
import type { LaunchPlan } from '../launch-plan.ts'
import type { LinkRuntime, PlanInput, RuntimeContext } from '../link-runtime.ts'
import { findMachineParts, type FoundParts } from './machine-parts.ts'
import { MachineStarts, templateBase } from './machine-starts.ts'
import { MicrovmMemory } from './microvm-memory.ts'
import { MissingPart } from './missing-part.ts'
import { RememberedByKey } from '../../host/remembered.ts'

const silent: Progress = () => undefined

/** The strongest rung: a machine with a kernel of its own, under QEMU, with KVM where there is one. */
export class MicrovmRuntime implements LinkRuntime {
  readonly rung = 'microvm'
  readonly name = 'qemu'
  readonly renames = 'guest'
  readonly attaches = 'guest'
  readonly countedElsewhere = true
  readonly diskForm = 'image'
  readonly #parts = new RememberedByKey<FoundParts>()
  readonly #starts = new MachineStarts((context) => this.#find(context, silent))
  readonly memory = new MicrovmMemory(this.#starts)

  async probe(context: RuntimeContext): Promise<Probe> {
    try {
      const parts = await this.#find(context, silent, true)
      return {
        available: true,
        label: `qemu ${parts.qemu.version} (${parts.accelerator.kind})`,
        capabilities: capabilities(parts, context),
        automatic: parts.accelerator.kind === 'kvm',
        notes: notes(parts, context),
      }
    } catch (error) {
      return {
        available: false,
        reason: (error as Error).message,
        fix: error instanceof MissingPart ? error.fix : null,
      }
    }
  }

  /** Does ahead, and with a word about it, what the first launch from the template would have to do. */
  async prepareTemplate(template: Template, context: RuntimeContext, progress: Progress): Promise<void> {
    await this.#find(context, progress)
    await templateBase(template, context, progress)
  }

  async plan(input: PlanInput, context: RuntimeContext): Promise<LaunchPlan> {
    return await this.#starts.plan(input, context)
  }

  /** Found once for each cache, since a boot may be part of it. */
  #find(context: RuntimeContext, progress: Progress, fresh = false): Promise<FoundParts> {
    const { cache } = context.paths
    const find = (): Promise<FoundParts> => findMachineParts(context, progress, fresh)
    return fresh ? this.#parts.renew(cache, find) : this.#parts.get(cache, find)
  }
}

function capabilities(parts: FoundParts, context: RuntimeContext): Capabilities {
  const { cgroups } = context.facts
  const limitsProcessors = cgroups.kind === 'v2' || (cgroups.kind === 'v1' && cgroups.cpu !== null)
  return {
    processes: true,
    terminals: true,
    users: true,
    ports: true,
    reconnect: true,
    pause: true,
    snapshots: true,
    memory: parts.qemu.privateMemory,
    volumes: context.facts.root,
    narrowing: true,
    processRecord: true,
    hostTemplate: false,
    limits: {
      // Without a cgroup a machine has whole processors.
      cpus: limitsProcessors ? 'enforced' : 'approximate',
      memoryBytes: 'enforced',
      pids: 'enforced',
      diskBytes: 'enforced',
      openFiles: 'enforced',
    },
  }
}

function notes({ kernel, obstacle, qemu }: FoundParts, { facts }: RuntimeContext): string[] {
  const emulation =
    obstacle === null
      ? []
      : [
          `no KVM: ${obstacle}. Instructions are emulated, so programs run several times slower.`,
          'QEMU’s authors promise isolation for KVM alone; with emulation the confinement around QEMU is part of the boundary.',
        ]
  const old = `QEMU ${qemu.version} is older than 8.2: every machine boots, and running processes cannot be captured.`
  const volumes = 'no volumes: their files belong to many users, and only root can give files to others than itself.'
  return [
    `kernel ${kernel.release}`,
    ...emulation,
    ...(qemu.privateMemory ? [] : [old]),
    ...(facts.root ? [] : [volumes]),
  ]
}
