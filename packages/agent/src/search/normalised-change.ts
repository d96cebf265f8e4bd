import { createHash } from 'node:crypto'

const CHANGED = /^[+-](?!\+\+ |-- )/

/** The same for changes that differ in nothing but white space, blank lines and where in a file they stand. */
export function normalisedChange(patch: Uint8Array): string {
  const hash = createHash('sha256')
  let binary = false
  for (const line of Buffer.from(patch).toString('latin1').split('\n')) {
    if (line.startsWith('diff --git ')) binary = false
    else if (line === 'GIT binary patch') binary = true
    const squeezed = line.replace(/[ \t\r]+/g, '')
    const counts = binary || line.startsWith('diff --git ') || /^(new|deleted|old) (file )?mode /.test(line)
    if (counts || (CHANGED.test(line) && squeezed.length > 1)) hash.update(`${squeezed}\n`)
  }
  return hash.digest('hex')
}
