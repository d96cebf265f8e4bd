import { readFileSync } from 'node:fs'

let known: string | null = null

export function version(): string {
  if (known !== null) return known
  const manifest: unknown = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  known =
    typeof manifest === 'object' && manifest !== null && 'version' in manifest ? String(manifest.version) : '0.0.0'
  return known
}
