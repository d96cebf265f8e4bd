import { readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { RegistryCredentials } from '@hearth/contract'
import { z } from 'zod'
import { registryFailed } from './image-error.ts'
import { IMAGE_LIMITS } from './image-limits.ts'
import { isLocal, isLocalHost } from './image-reference.ts'

const dockerConfigSchema = z.object({
  auths: z.record(z.string(), z.object({ auth: z.string().optional() })).optional(),
})
const tokenSchema = z.object({ token: z.string().optional(), access_token: z.string().optional() })

/** What `docker login` stored for a registry, as the value of a Basic header. */
export async function storedCredentials(registry: string): Promise<string | null> {
  const directory = process.env['DOCKER_CONFIG'] ?? join(homedir(), '.docker')
  const text = await readFile(join(directory, 'config.json'), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'EACCES' || error.code === 'ENOTDIR') return null
    throw error
  })
  if (text === null) return null
  const parsed = dockerConfigSchema.safeParse(parseJson(text))
  const auth = parsed.success ? parsed.data.auths?.[registry]?.auth : undefined
  return auth === undefined || auth === '' ? null : `Basic ${auth}`
}

/** Answers the challenge of a registry: the value of the Authorization header to try again with. */
export async function answerChallenge(
  challenge: string,
  {
    registry,
    given,
    signal,
  }: { readonly registry: string; readonly given: RegistryCredentials | null; readonly signal: AbortSignal },
): Promise<string> {
  const credentials = given === null ? await storedCredentials(registry) : basic(given)
  if (/^basic\b/i.test(challenge)) {
    if (credentials !== null) return credentials
    throw registryFailed(`${registry} asks for a password; log in with \`docker login ${registry}\``, { registry })
  }
  const { realm, service, scope } = parseBearer(challenge, registry)
  const url = new URL(realm)
  // SAFETY: the registry names the place; a password goes there only where nobody can listen.
  const isPrivate = url.protocol === 'https:' || (isLocalHost(url.hostname) && isLocal(registry))
  if (!isPrivate) throw registryFailed(`${registry} wants its tokens fetched without encryption`, { realm })
  if (service !== undefined) url.searchParams.set('service', service)
  if (scope !== undefined) url.searchParams.set('scope', scope)
  const headers = credentials === null ? {} : { authorization: credentials }
  // SAFETY: nothing leads further than to the place that was named.
  const response = await fetch(url, { signal, headers, redirect: 'manual' })
  const body = await response.text()
  if (!response.ok || body.length > IMAGE_LIMITS.tokenBytes) {
    throw registryFailed(`${registry} gives no token (status ${response.status})`, {
      registry,
      status: response.status,
    })
  }
  const parsed = tokenSchema.safeParse(parseJson(body))
  const token = parsed.success ? (parsed.data.token ?? parsed.data.access_token) : undefined
  if (token === undefined || !/^[\x21-\x7e]+$/.test(token))
    throw registryFailed(`${registry} gives no usable token`, { registry })
  return `Bearer ${token}`
}

function basic({ username, password }: RegistryCredentials): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
}

function parseBearer(challenge: string, registry: string): { realm: string; service?: string; scope?: string } {
  const fields: Record<string, string> = {}
  if (/^bearer\s/i.test(challenge)) {
    for (const [, key = '', value = ''] of challenge.matchAll(/([a-z]+)="([^"]*)"/gi)) fields[key.toLowerCase()] = value
  }
  const { realm, service, scope } = fields
  if (realm === undefined || !URL.canParse(realm)) {
    throw registryFailed(`${registry} asks for a login of an unknown kind`, { challenge: challenge.slice(0, 200) })
  }
  return { realm, ...(service === undefined ? {} : { service }), ...(scope === undefined ? {} : { scope }) }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // Not ours to repair; whoever reads a field from it finds none.
    return null
  }
}
