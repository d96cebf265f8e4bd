import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { z } from 'zod'
import { DIRECTORY_LABEL } from './container-description.ts'
import type { EngineClient } from './engine-client.ts'

const containersSchema = z.array(z.object({ Id: z.string(), Labels: z.record(z.string(), z.string()) }))

/** Removes containers of this home whose sandbox is gone: what a keeper that was killed while it made one has left. */
export async function sweepContainers(client: EngineClient, sandboxes: string): Promise<void> {
  const filters = encodeURIComponent(JSON.stringify({ label: [DIRECTORY_LABEL] }))
  const containers = containersSchema.parse(await client.get(`/containers/json?all=1&filters=${filters}`))
  for (const { Id, Labels } of containers) {
    const directory = Labels[DIRECTORY_LABEL]
    const ours = directory !== undefined && dirname(directory) === sandboxes
    if (ours && !existsSync(directory)) await client.call('DELETE', `/containers/${Id}?force=1&v=1`)
  }
}
