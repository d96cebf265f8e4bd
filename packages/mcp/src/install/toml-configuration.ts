import type { Launch } from './configuration.ts'
import { statementsOf, type Statement } from './toml-statements.ts'

const SERVERS = 'mcp_servers'
const TABLE = [SERVERS, 'hearth']
const HEADER = `[${TABLE.join('.')}]\n`

/**
 * The file with the table of this server in it. Of a table that is there what this server says is replaced, and the rest stays. Null where the servers stand
 * in a form that a table would contradict: both together would make the whole file invalid.
 */
export function withServerTable(text: string, launch: Launch): string | null {
  const statements = statementsOf(text)
  if (statements === null) return null
  const entries = placed(statements)
  if (entries.some(contradicts)) return null
  const own = entries.filter(({ statement, table }) => statement.kind !== 'other' && isIn(table, TABLE))
  const env = missing(launch.env ?? {}, own)
  if (env === null) return null
  const lines = `command = ${quoted(launch.command)}\nargs = ${JSON.stringify(launch.args)}\n`
  const inline = own.some(({ table }) => isIn(table, [...TABLE, 'env'])) ? '' : inlineTable(env)
  if (!own.some(({ statement, table }) => statement.kind === 'table' && same(table, TABLE))) {
    const before = text.trimEnd()
    return `${before === '' ? '' : `${before}\n\n`}${HEADER}${lines}${inline}`
  }
  return entries
    .map(({ statement: { kind, path, text: written }, table }) => {
      if (kind === 'table' && same(table, TABLE)) return ended(written) + lines + inline
      if (kind === 'table' && same(table, [...TABLE, 'env'])) return ended(written) + pairs(env).join('')
      return kind === 'key' && same(table, TABLE) && ['command', 'args'].includes(path.join('.')) ? '' : written
    })
    .join('')
}

interface Placed {
  readonly statement: Statement
  /** Of which table it is, or which it opens. */
  readonly table: readonly string[]
}

function placed(statements: readonly Statement[]): Placed[] {
  let table: readonly string[] = []
  return statements.map((statement) => {
    if (statement.kind === 'table' || statement.kind === 'tables') table = statement.path
    return { statement, table }
  })
}

function contradicts({ statement: { kind, path }, table }: Placed): boolean {
  if (kind === 'tables') return same(path, [SERVERS]) || isIn(path, TABLE)
  if (kind !== 'key' || isIn(table, TABLE)) return false
  const whole = [...table, ...path]
  return same(whole, [SERVERS]) || isIn(whole, TABLE)
}

/** Variables that are not there yet. Null where they stand in a form that none can be added to. */
function missing(env: Readonly<Record<string, string>>, own: readonly Placed[]): Record<string, string> | null {
  const there = own.flatMap(({ statement: { kind, path, text }, table }) =>
    kind === 'key' ? [{ name: [...table, ...path].slice(TABLE.length), text }] : [],
  )
  const left = Object.entries(env).filter(
    ([key]) => !there.some(({ name, text }) => same(name, ['env', key]) || (same(name, ['env']) && text.includes(key))),
  )
  const fixed = there.some(({ name }) => name[0] === 'env') && !own.some(({ table }) => same(table, [...TABLE, 'env']))
  return left.length > 0 && fixed ? null : Object.fromEntries(left)
}

function inlineTable(env: Readonly<Record<string, string>>): string {
  const all = pairs(env).map((line) => line.trimEnd())
  return all.length === 0 ? '' : `env = { ${all.join(', ')} }\n`
}

function pairs(env: Readonly<Record<string, string>>): string[] {
  return Object.entries(env).map(([key, value]) => `${key} = ${quoted(value)}\n`)
}

/** Strings of JSON are strings of TOML, but for one character that TOML wants escaped. */
function quoted(text: string): string {
  return JSON.stringify(text).replaceAll('\u007f', '\\u007f')
}

function ended(line: string): string {
  return line.endsWith('\n') ? line : `${line}\n`
}

function isIn(path: readonly string[], table: readonly string[]): boolean {
  return table.every((name, index) => path[index] === name)
}

function same(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && isIn(one, other)
}
