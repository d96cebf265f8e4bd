// Writes the codecs of the link from messages.json: `node guest/messages/generate.ts` (`--check` only compares).
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cHeader } from './emit-c.ts'
import { typescriptModule } from './emit-typescript.ts'
import { protocolTable } from './emit-markdown.ts'
import { loadTable } from './table.ts'

const root = join(import.meta.dirname, '..', '..')
const table = loadTable()
const protocolPath = join(root, 'guest/protocol.md')
const outputs: [path: string, text: string][] = [
  [join(root, 'guest/src/messages.gen.h'), cHeader(table)],
  [join(root, 'packages/engine/src/link/messages.gen.ts'), typescriptModule(table)],
  [protocolPath, protocolTable(table, readFileSync(protocolPath, 'utf8'))],
]

const check = process.argv.includes('--check')
let stale = false
for (const [path, text] of outputs) {
  const current = readIfPresent(path)
  if (current === text) continue
  if (check) {
    stale = true
    console.error(`${path} does not match messages.json: run \`npm run messages\``)
  } else {
    writeFileSync(path, text)
    console.log(`wrote ${path}`)
  }
}
if (stale) process.exitCode = 1

function readIfPresent(path: string): string | null {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return null
  }
}
