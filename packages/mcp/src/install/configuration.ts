import { join } from 'node:path'

export const CLIENTS = ['claude-code', 'cursor', 'vscode', 'codex'] as const
export type Client = (typeof CLIENTS)[number]

/** How a client starts the server. */
export interface Launch {
  readonly command: string
  readonly args: readonly string[]
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
  switch (client) {
    case 'claude-code':
      return jsonConfiguration(join(project, '.mcp.json'), 'mcpServers', { type: 'stdio', ...launch }, options)
    case 'cursor':
      return jsonConfiguration(join(project, '.cursor/mcp.json'), 'mcpServers', launch, options)
    case 'vscode':
      return jsonConfiguration(join(project, '.vscode/mcp.json'), 'servers', { type: 'stdio', ...launch }, options)
    case 'codex':
      return tomlConfiguration(join(home, '.codex/config.toml'), launch, options)
  }
}

function jsonConfiguration(
  path: string,
  key: string,
  entry: object,
  { read }: Pick<ConfigurationOptions, 'read'>,
): Configuration {
  const before = parsed(path, read(path))
  const servers = before[key] ?? {}
  if (!isObject(servers)) throw new Error(`${path}: ${key} is not an object`)
  // What a person has added to the entry, such as an environment, stays.
  const old = servers['hearth']
  const merged = { ...(isObject(old) ? old : {}), ...entry }
  return { path, content: `${JSON.stringify({ ...before, [key]: { ...servers, hearth: merged } }, null, 2)}\n` }
}

function parsed(path: string, text: string | null): Record<string, unknown> {
  if (text === null || text.trim() === '') return {}
  try {
    const value: unknown = JSON.parse(text)
    if (isObject(value)) return value
  } catch {
    // Said below, with what to do about it.
  }
  throw new Error(`${path} is not plain JSON: add the server there by hand, as --print shows it`)
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A table of its own at the end; one that is there already is replaced, up to the next table. */
function tomlConfiguration(path: string, launch: Launch, { read }: Pick<ConfigurationOptions, 'read'>): Configuration {
  const text = read(path) ?? ''
  // Forms of the same table that are not taken apart here: a second one would make the whole file invalid.
  if (
    /^\s*(mcp_servers\s*=|mcp_servers\.hearth\s*=|\[mcp_servers\]\s*\n(?:[^[]*\n)?\s*hearth\b|\[\s*mcp_servers\s*\.\s*["']hearth)/m.test(
      text,
    )
  ) {
    throw new Error(`${path} has its servers in another form: add this one by hand, as --print shows it`)
  }
  const kept = text.split('\n')
  const start = kept.findIndex((line) => line.trim() === '[mcp_servers.hearth]')
  if (start !== -1) {
    // Tables below it, such as its environment, are the person's and stay.
    const length = kept.slice(start + 1).findIndex((line) => line.trimStart().startsWith('['))
    kept.splice(start, length === -1 ? kept.length - start : length + 1)
  }
  const before = kept.join('\n').trimEnd()
  const table = `[mcp_servers.hearth]\ncommand = ${JSON.stringify(launch.command)}\nargs = ${JSON.stringify(launch.args)}\n`
  return { path, content: before === '' ? table : `${before}\n\n${table}` }
}
