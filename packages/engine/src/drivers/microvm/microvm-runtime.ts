import { chown } from 'node:fs/promises'
import { join } from 'node:path'
import { HearthError } from '@hearth/contract'
import type { Progress, Template } from '../../templates/template.ts'
import type { Capabilities, Probe } from '../driver.ts'
import type { LaunchPlan } from '../launch-plan.ts'
import type { LinkRuntime, PlanInput, RuntimeContext } from '../link-runtime.ts'
import { baseImage } from './base-image.ts'
import { findMachineParts, type FoundParts } from './machine-parts.ts'
import { machinePlan } from './machine-plan.ts'
import { MissingPart } from './missing-part.ts'
import { makeUpperDisk } from './upper-disk.ts'

const silent: Progress = () => undefined

/** The strongest rung: a machine with a kernel of its own, under QEMU, with KVM where there is one. */
export class MicrovmRuntime implements LinkRuntime {
  readonly rung = 'microvm'
  readonly name = 'qemu'
  readonly countedElsewhere = true
  readonly ownDisk = true
  readonly #parts = new Map<string, Promise<FoundParts>>()

  async probe(context: RuntimeContext): Promise<Probe> {
    try {
      const { qemu, accelerator, obstacle, kernel } = await this.#find(context, silent, true)
      return {
        available: true,
        label: `qemu ${qemu.version} (${accelerator.kind})`,
        capabilities: capabilities(context),
        automatic: accelerator.kind === 'kvm',
        notes: [`kernel ${kernel.release}`, ...(obstacle === null ? [] : emulationNotes(obstacle))],
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
    await this.#base(template, context, progress)
  }

  async plan({ request, idBase }: PlanInput, context: RuntimeContext): Promise<LaunchPlan> {
    const { limits, directory, template } = request
    const upper = join(directory, 'disk.ext4')
    const [parts, base] = await Promise.all([
      this.#find(context, silent),
      this.#base(template, context, silent),
      makeUpperDisk(context.paths.cache, upper, limits.diskBytes),
    ])
    if (idBase !== null) await chown(upper, idBase, idBase)
    const { memoryBytes, cpus, pids } = limits
    return machinePlan(parts, { base, upper, memoryBytes, cpus, pids, idBase }, context.facts)
  }

  /** Found once for each cache, since a boot may be part of it; a failure is not kept. */
  #find(context: RuntimeContext, progress: Progress, fresh = false): Promise<FoundParts> {
    const { cache } = context.paths
    let found = this.#parts.get(cache)
    if (found === undefined || fresh) {
      found = findMachineParts(context, progress, fresh)
      this.#parts.set(cache, found)
      found.catch(() => this.#parts.delete(cache))
    }
    return found
  }

  async #base(template: Template, context: RuntimeContext, progress: Progress): Promise<string> {
    if (template.kind === 'host') {
      throw new HearthError('template_unsupported', 'a microVM has its own disk and cannot show the host’s files', {
        suggestion: 'Use the template `debian`, or an image.',
        context: { template: template.name, rung: 'microvm' },
      })
    }
    return await baseImage(context.paths.cache, template, context.facts.root, progress)
  }
}

function capabilities(context: RuntimeContext): Capabilities {
  const { cgroups } = context.facts
  const limitsProcessors = cgroups.kind === 'v2' || (cgroups.kind === 'v1' && cgroups.cpu !== null)
  return {
    processes: true,
    terminals: true,
    users: true,
    ports: true,
    reconnect: true,
    pause: true,
    snapshots: false,
    memory: false,
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

function emulationNotes(obstacle: string): string[] {
  return [
    `no KVM: ${obstacle}. Instructions are emulated, so programs run several times slower.`,
    'QEMU’s authors promise isolation for KVM alone; with emulation the confinement around QEMU is part of the boundary.',
  ]
}
