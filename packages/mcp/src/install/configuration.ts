import { join } from 'node:path'
import { withServerTable } from './toml-configuration.ts'

export const CLIENTS = ['claude-code', 'cursor', 'vscode', 'codex'] as const
export type Client = (typeof CLIENTS)[number]

/** How a client starts the server. */
export interface Launch {
  readonly command: string
  readonly args: readonly string[]
  /** What tells it which server: editors do not have the environment of a shell. */
  readonly env?: Readonly<Record<string, string>>
}

export interface Configuration {
  readonly path: string
  /** The whole file afterwards. */
  readonly content: string
}

export interface ConfigurationOptions {
  /** Of the project; Codex has one file for all. */
  readonly project: string
  readonly home: string
  readonly launch: Launch
  /** What stands in the file now; null when there is none. */
  readonly read: (path: string) => string | null
}

/** The configuration of a client with Hearth in it. Whatever else stands there stays as it is. */
export function configurationFor(client: Client, options: ConfigurationOptions): Configuration {
  const { project, home, launch } = options
  const typed = { type: 'stdio', ...launch }
  switch (client) {
    case 'claude-code':
      return jsonConfiguration(join(project, '.mcp.json'), 'mcpServers', typed, options)
    case 'cursor':
      return jsonConfiguration(join(project, '.cursor/mcp.json'), 'mcpServers', launch, options)
    case 'vscode':
      return jsonConfiguration(join(project, '.vscode/mcp.json'), 'servers', typed, options)
    case 'codex':
      return tomlConfiguration(join(home, '.codex/config.toml'), launch, options)
  }
}

function jsonConfiguration(
  path: string,
  key: string,
  entry: Launch,
  { read }: Pick<ConfigurationOptions, 'read'>,
): Configuration {
  const before = parsed(path, read(path), `"${key}": { "hearth": ${JSON.stringify(entry)} }`)
  const servers = before[key] ?? {}
  if (!isObject(servers)) throw new Error(`${path}: ${key} is not an object`)
  // What a person has added to the entry, such as an environment, stays.
  const old = servers['hearth']
  const kept = isObject(old) ? old : {}
  const env = { ...(isObject(kept['env']) ? kept['env'] : {}), ...entry.env }
  const merged = { ...kept, ...entry, ...(Object.keys(env).length === 0 ? {} : { env }) }
  return { path, content: `${JSON.stringify({ ...before, [key]: { ...servers, hearth: merged } }, null, 2)}\n` }
}

function parsed(path: string, text: string | null, wanted: string): Record<string, unknown> {
  if (text === null || text.trim() === '') return {}
  try {
    const value: unknown = JSON.parse(text)
    if (isObject(value)) return value
  } catch {
    // Said below, with what to do about it.
  }
  throw new Error(`${path} is not plain JSON: add the server there by hand:\n${wanted}`)
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function tomlConfiguration(path: string, launch: Launch, { read }: Pick<ConfigurationOptions, 'read'>): Configuration {
  const content = withServerTable(read(path) ?? '', launch)
  if (content !== null) return { path, content }
  throw new Error(
    `${path} has its servers in another form: add this one by hand:\n${withServerTable('', launch) ?? ''}`,
  )
}
