import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'

const PACKAGES = join(import.meta.dirname, '../..')

/** The declarations of types in the sources of a package, by name, without comments and texts. */
function declarationsOf(folder: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  for (const file of readdirSync(join(PACKAGES, folder), { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.ts') || file.endsWith('.test.ts')) continue
    const code = readFileSync(join(PACKAGES, folder, file), 'utf8').replace(/\/\*[^]*?\*\/|\/\/.*|'[^'\n]*'/g, '')
    for (const [, name = '', body = ''] of code.matchAll(
      /^export (?:interface|type) (\w+)([^]*?)(?=^export |^const |^function |^interface |^type |(?![^]))/gm,
    )) {
      found.set(name, body)
    }
  }
  return found
}

/** Members through which a server keeps what it has, which are no interface for other programs. */
const OF_THE_SERVER = new Set(['record', 'changes', 'capture', 'sleep', 'watchProcesses'])

const exported = new Set(
  [...readFileSync(join(import.meta.dirname, 'index.ts'), 'utf8').matchAll(/\b\w+\b/g)].map(([name]) => name),
)

it('exports every type that the types it exports speak of', () => {
  const contract = declarationsOf('contract/src')
  const missing = [...contract]
    .filter(([name]) => exported.has(name))
    .flatMap(([name, body]) =>
      [...body.matchAll(/\b[A-Z]\w+\b/g)]
        .map(([mentioned]) => mentioned)
        .filter((mentioned) => contract.has(mentioned) && !exported.has(mentioned))
        .map((mentioned) => `${mentioned}, of ${name}`),
    )
  expect(missing).toEqual([])
})

it('exports what the public members of an embedded Hearth and its sandboxes speak of', () => {
  const known = new Map([...declarationsOf('contract/src'), ...declarationsOf('engine/src')])
  const missing = ['hearth.ts', 'hearth-options.ts', 'sandbox/embedded-sandbox.ts'].flatMap((file) => {
    const code = readFileSync(join(PACKAGES, 'engine/src', file), 'utf8')
    // One line each: members of classes and of options begin with two spaces.
    const members = [
      ...code.matchAll(/^ {2}(?!(?:async |readonly )?#|constructor)(?:async |get |readonly )?(\w+)[^\n]*[^,\n]$/gm),
    ].filter(([, name = '']) => !OF_THE_SERVER.has(name))
    return members.flatMap(([line]) =>
      [...line.matchAll(/\b[A-Z]\w+\b/g)]
        .map(([mentioned]) => mentioned)
        .filter((mentioned) => known.has(mentioned) && !exported.has(mentioned))
        .map((mentioned) => `${mentioned}: ${line.trim()}`),
    )
  })
  expect(missing).toEqual([])
})
