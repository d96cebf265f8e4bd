import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { HearthError } from '@hearth/contract'
import { z } from 'zod'
import type { HostPaths } from '../../host/host.ts'
import type { Progress, Template } from '../../templates/template.ts'
import { hostRoot } from '../staging/host-root.ts'
import type { EngineClient } from './engine-client.ts'
import { RememberedByKey } from '../../host/remembered.ts'

const REPOSITORY = 'localhost/hearth/template'
const ROOT_LABEL = 'hearth.root'
const imagesSchema = z.array(z.object({ Id: z.string(), Labels: z.record(z.string(), z.string()).nullish() }))

const imported = new RememberedByKey<void>()

/** The template as an image of the engine, imported once per digest. Gives its name. */
export async function templateImage(
  client: EngineClient,
  template: Template,
  paths: HostPaths,
  progress: Progress,
): Promise<string> {
  const root = template.kind === 'host' ? await hostRoot(template, paths) : template.root
  const tag = createHash('sha256').update(`${template.digest} ${root}`).digest('hex').slice(0, 40)
  const image = `${REPOSITORY}:${tag}`
  const key = `${client.socketPath} ${image}`
  await imported.get(key, () => importOnce(client, template, root, tag, progress))
  return image
}

async function importOnce(
  client: EngineClient,
  template: Template,
  root: string,
  tag: string,
  progress: Progress,
): Promise<void> {
  if ((await client.get(`/images/${REPOSITORY}:${tag}/json`)) !== null) return
  progress(`giving the template ${template.name} to the container engine`)
  await removeOrphans(client)
  const parameters = new URLSearchParams({
    fromSrc: '-',
    // Podman does not look at `tag`; both take it as part of the name.
    repo: `${REPOSITORY}:${tag}`,
    changes: `LABEL ${ROOT_LABEL}=${JSON.stringify(root)}`,
  })
  // Owners stay as they are when Hearth is root; a user's own files become root's.
  const owners = process.getuid?.() === 0 ? [] : ['--owner=0', '--group=0']
  const archive = spawn('tar', ['-C', root, '--numeric-owner', '--one-file-system', ...owners, '-cf', '-', '.'], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let complaint = ''
  archive.stderr.on('data', (chunk: Buffer) => (complaint = (complaint + chunk.toString()).slice(-1000)))
  const ended = new Promise<number | null>((resolve, reject) => {
    archive.once('error', reject)
    archive.once('close', resolve)
  })
  const answer = await client.upload(`/images/create?${parameters.toString()}`, archive.stdout)
  const code = await ended
  const refused = answer.status !== 200 || answer.text.includes('"error"')
  if (code === 0 && !refused) return
  const reason = code === 0 ? `${answer.status} ${answer.text.slice(-500)}` : complaint
  throw new HearthError('launch_failed', `the container engine did not take the template ${template.name}: ${reason}`)
}

/** Images of templates that were removed since. One that a container still uses stays. */
async function removeOrphans(client: EngineClient): Promise<void> {
  const filters = encodeURIComponent(JSON.stringify({ label: [ROOT_LABEL] }))
  const images = imagesSchema.parse(await client.get(`/images/json?all=0&filters=${filters}`))
  for (const { Id, Labels } of images) {
    const root = Labels?.[ROOT_LABEL]
    if (root !== undefined && !existsSync(root)) await client.call('DELETE', `/images/${encodeURIComponent(Id)}`)
  }
}
