import { writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { HearthError } from '@hearth/contract'
import type { Capabilities, Probe } from '../driver.ts'
import type { LaunchPlan } from '../launch-plan.ts'
import type { LinkRuntime, PlanInput, RuntimeContext } from '../link-runtime.ts'
import { requireArchitecture } from '../seccomp/syscall-numbers.ts'
import { toOciSeccomp } from '../seccomp/to-oci-seccomp.ts'
import { tryLaunch } from '../staging/try-launch.ts'
import { containerDescription } from './container-description.ts'
import { type ContainerEngine, findEngine } from './find-engine.ts'
import { sweepContainers } from './sweep-containers.ts'
import { templateImage } from './template-image.ts'
import { Remembered } from '../../host/remembered.ts'

const CAPABILITIES: Capabilities = {
  processes: true,
  terminals: true,
  users: true,
  ports: true,
  reconnect: true,
  // The container's processes are not below the keeper.
  pause: false,
  // The engine's own commits would be images of its store, not snapshots of ours.
  snapshots: false,
  memory: false,
  volumes: false,
  // The engine gives a container no capability that its commands would not have.
  narrowing: false,
  processRecord: false,
  hostTemplate: true,
  limits: {
    cpus: 'enforced',
    memoryBytes: 'enforced',
    pids: 'enforced',
    // The engine limits the writable layer on few file systems only, and does not say on which.
    diskBytes: 'none',
    openFiles: 'enforced',
  },
}

/** Containers of an engine that runs already, Docker or Podman, through its API. The guest is attached to by the bridge (guest/src/bridge). */
export class DockerRuntime implements LinkRuntime {
  readonly rung = 'container'
  readonly name = 'docker'
  readonly ownDisk = true
  readonly countedElsewhere = true
  readonly #engine = new Remembered(findEngine)

  async probe(context: RuntimeContext): Promise<Probe> {
    const engine = await this.#find()
    if (engine === null) {
      return {
        available: false,
        reason: 'no socket of Docker or Podman answers',
        fix: 'systemctl start docker, or podman.socket',
      }
    }
    const trial = await tryLaunch(this, context)
    if (!trial.works) return { available: false, reason: `${engine.label}: ${trial.reason}`, fix: null }
    await sweepContainers(engine.client, context.paths.sandboxes)
    const notes = [
      'no limit on disk: the container engine keeps none on most file systems',
      'no volumes: what lies in them belongs to the ids of sandboxes, which a container of the engine does not have',
      'no user namespace of its own: root inside is the user that the container engine runs containers as',
    ]
    return { available: true, label: engine.label, capabilities: CAPABILITIES, automatic: true, notes }
  }

  async plan({ request }: PlanInput, { paths }: RuntimeContext): Promise<LaunchPlan> {
    const engine = await this.#find()
    if (engine === null) throw new HearthError('rung_unavailable', 'no socket of Docker or Podman answers')
    const { template, hostname, limits, directory } = request
    const image = await templateImage(engine.client, template, paths, () => undefined)
    const mounts = template.kind === 'host' ? template.mounts : []
    const description = join(directory, 'container.json')
    const seccomp = await seccompOption(engine, directory)
    const content = containerDescription({ image, hostname, limits, guest: paths.guest, directory, seccomp, mounts })
    await writeFile(description, JSON.stringify(content), { mode: 0o600 })
    const name = `hearth-${basename(directory)}`
    const { socketPath } = engine.client
    return {
      argv: [paths.guest, 'attach-docker', socketPath, name, description],
      environment: {},
      steps: [],
      userNamespace: null,
      files: [],
      cleanup: [paths.guest, 'remove-docker', socketPath, name],
      // The engine keeps the limits, in a cgroup of its own.
      cgroup: null,
    }
  }

  #find(): Promise<ContainerEngine | null> {
    return this.#engine.get()
  }
}

/** Docker takes the filter itself, Podman the name of a file. */
async function seccompOption(engine: ContainerEngine, directory: string): Promise<string> {
  const filter = JSON.stringify(toOciSeccomp(requireArchitecture()))
  if (!engine.podman) return filter
  const path = join(directory, 'seccomp.json')
  await writeFile(path, filter, { mode: 0o600 })
  return path
}
