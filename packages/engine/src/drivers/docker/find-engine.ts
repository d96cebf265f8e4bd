import { access, constants } from 'node:fs/promises'
import { z } from 'zod'
import { EngineClient } from './engine-client.ts'

export interface ContainerEngine {
  readonly client: EngineClient
  /** For example `podman 4.3.1`. */
  readonly label: string
  readonly podman: boolean
}

const versionSchema = z.object({
  Version: z.string(),
  Components: z.array(z.object({ Name: z.string() })).optional(),
})
const ANSWER_MS = 3000

/** The first engine that answers, of those that its command-line tools would use. */
export async function findEngine(environment: NodeJS.ProcessEnv = process.env): Promise<ContainerEngine | null> {
  for (const path of socketPaths(environment)) {
    const reachable = await access(path, constants.R_OK | constants.W_OK).then(
      () => true,
      () => false,
    )
    const engine = reachable ? await ask(new EngineClient(path)) : null
    if (engine !== null) return engine
  }
  return null
}

/** Sockets on this host only: a sandbox's files and its keeper are here. */
function socketPaths(environment: NodeJS.ProcessEnv): string[] {
  const named = environment['DOCKER_HOST']
  if (named !== undefined && named !== '') return named.startsWith('unix://') ? [named.slice('unix://'.length)] : []
  const own = environment['XDG_RUNTIME_DIR']
  return [
    '/var/run/docker.sock',
    '/run/podman/podman.sock',
    ...(own === undefined ? [] : [`${own}/docker.sock`, `${own}/podman/podman.sock`]),
  ]
}

async function ask(client: EngineClient): Promise<ContainerEngine | null> {
  const answer = await client.get('/version', AbortSignal.timeout(ANSWER_MS)).catch(() => null)
  const version = versionSchema.safeParse(answer)
  if (!version.success) return null
  const podman = version.data.Components?.some(({ Name }) => Name.startsWith('Podman')) === true
  return { client, podman, label: `${podman ? 'podman' : 'docker'} ${version.data.Version}` }
}
