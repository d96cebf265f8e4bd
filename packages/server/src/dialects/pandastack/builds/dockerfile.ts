import { HearthError } from '@hearth/contract'

/** One instruction of a Dockerfile. */
export interface Instruction {
  /** In capitals. */
  readonly keyword: string
  /** `--chown=a:b` and the like, by their names. */
  readonly flags: ReadonlyMap<string, string>
  readonly rest: string
}

const MOST_BYTES = 256 * 1024
const MOST_INSTRUCTIONS = 1000

/** The instructions in their order, with lines that go on put together. */
export function parseDockerfile(text: string): Instruction[] {
  if (text.length > MOST_BYTES) throw wrong(`it is larger than ${MOST_BYTES} bytes`)
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/)
  if (/^#\s*escape\s*=\s*`/i.test(lines[0] ?? '')) throw wrong('its escape character must be the backslash')
  const instructions: Instruction[] = []
  let held = ''
  for (const line of lines) {
    // Comments and empty lines are left out also within an instruction.
    if (/^\s*(#|$)/.test(line)) continue
    const goesOn = /\\[ \t]*$/.test(line)
    held += goesOn ? line.replace(/\\[ \t]*$/, '') : line
    if (goesOn) continue
    instructions.push(instructionOf(held.trim()))
    held = ''
  }
  if (held.trim() !== '') instructions.push(instructionOf(held.trim()))
  if (instructions.length > MOST_INSTRUCTIONS) throw wrong(`it has more than ${MOST_INSTRUCTIONS} instructions`)
  return instructions
}

function instructionOf(text: string): Instruction {
  const [, keyword = '', after = ''] = /^([A-Za-z]+)(?:\s+(.*))?$/s.exec(text) ?? []
  if (keyword === '') throw wrong(`${JSON.stringify(text.slice(0, 64))} is no instruction`)
  const flags = new Map<string, string>()
  let rest = after
  for (;;) {
    const [flag, name = '', value = ''] = /^--([a-z-]+)(?:=(\S*))?(?:\s+|$)/.exec(rest) ?? []
    if (flag === undefined) return { keyword: keyword.toUpperCase(), flags, rest }
    flags.set(name, value)
    rest = rest.slice(flag.length)
  }
}

/** The words of an instruction: a list in JSON, or separated by blanks, which quotes and backslashes keep together. */
export function wordsOf(text: string): string[] {
  const list = listOf(text)
  if (list !== null) return list
  const words = text.match(/(?:"(?:\\.|[^"\\])*"|'[^']*'|\\.|[^\s"'\\])+/gs) ?? []
  return words.map((word) =>
    word.replaceAll(/"((?:\\.|[^"\\])*)"|'([^']*)'|\\(.)/gs, (_, double?: string, single?: string, escaped?: string) =>
      double === undefined ? (single ?? escaped ?? '') : double.replaceAll(/\\(["\\$])/g, '$1'),
    ),
  )
}

/** `["a", "b"]` as its words; null for everything else. */
export function listOf(text: string): string[] | null {
  if (!text.startsWith('[')) return null
  try {
    const value: unknown = JSON.parse(text)
    return Array.isArray(value) && value.every((item) => typeof item === 'string') ? value : null
  } catch {
    // Docker takes such a text for words, too.
    return null
  }
}

export type Variables = Readonly<Record<string, string>>

/** `$NAME`, `${NAME}`, `${NAME:-otherwise}` and `${NAME:+instead}`; what nobody has set is empty. */
export function expanded(text: string, variables: Variables): string {
  const pattern = /\\(\$)|\$(?:(\w+)|\{(\w+)(?:(:[-+])([^}]*))?\})/g
  return text.replaceAll(
    pattern,
    (_, dollar?: string, plain?: string, braced?: string, operator?: string, word = '') => {
      if (dollar !== undefined) return dollar
      const name = plain ?? braced ?? ''
      const value = Object.hasOwn(variables, name) ? (variables[name] ?? '') : ''
      if (operator === ':-') return value === '' ? word : value
      if (operator === ':+') return value === '' ? '' : word
      return value
    },
  )
}

export function wrong(why: string): HearthError {
  return new HearthError('invalid_request', `dockerfile: ${why}`)
}
