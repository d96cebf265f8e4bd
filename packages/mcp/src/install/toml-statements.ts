/** A line of TOML, or as many as belong together: a header, a key with its value, or neither (a comment, an empty line). */
export interface Statement {
  readonly kind: 'table' | 'tables' | 'key' | 'other'
  /** Of a header, or of a key within its table. */
  readonly path: readonly string[]
  /** As it is written, with its end of line. */
  readonly text: string
}

const TOKEN =
  /"""(?:\\[\s\S]|[^"\\]|"(?!""))*"{3,5}|'''(?:[^']|'(?!''))*'{3,5}|"(?:\\.|[^"\\\n])*"|'[^'\n]*'|#[^\n]*|\n|[ \t\r]+|[[\]{}=,.]|[^\s"'#[\]{}=,.]+|[\s\S]/g

/** A part of a name: as it is, or quoted. */
const NAME = /^(?:[\w-]+|"[\s\S]*"|'[^']*'|\.)$/

/** Takes a file apart so far that headers and keys are told from what only looks like them. Null for what is no TOML. */
export function statementsOf(text: string): Statement[] | null {
  const statements: (Statement | null)[] = []
  let tokens: string[] = []
  let depth = 0
  for (const [token] of text.matchAll(TOKEN)) {
    if (token === '"' || token === "'") return null
    tokens.push(token)
    if (token === '[' || token === '{') depth++
    if (token === ']' || token === '}') depth--
    if (token !== '\n' || depth > 0) continue
    statements.push(statementOf(tokens))
    tokens = []
    depth = 0
  }
  if (depth > 0) return null
  if (tokens.length > 0) statements.push(statementOf(tokens))
  return statements.every((statement) => statement !== null) ? statements : null
}

function statementOf(tokens: readonly string[]): Statement | null {
  const text = tokens.join('')
  const told = tokens.filter((token) => !/^(\s|#)/.test(token))
  if (told.length === 0) return { kind: 'other', path: [], text }
  const header = told[0] === '['
  const names = header
    ? told.slice(0, told.indexOf(']')).filter((token) => token !== '[')
    : told.slice(0, told.indexOf('='))
  if (names.length === 0 || !names.every((name) => NAME.test(name))) return null
  const kind = header ? (told[1] === '[' ? 'tables' : 'table') : 'key'
  return { kind, path: pathOf(names), text }
}

function pathOf(tokens: readonly string[]): string[] {
  return tokens.filter((token) => token !== '.').map(unquoted)
}

function unquoted(token: string): string {
  if (token.startsWith("'")) return token.slice(1, -1)
  if (!token.startsWith('"')) return token
  try {
    return String(JSON.parse(token))
  } catch {
    // An escape that JSON has not: no name that is looked for has any.
    return token
  }
}
