import { posix } from 'node:path'

export function isPackageFile(path: string): boolean {
  return posix.basename(path) === 'package.json'
}

type Fields = Record<string, unknown>

/** How a package is run: its scripts, or nothing for one that cannot be read. */
export function scriptsOf(text: string): unknown {
  return parse(text)?.['scripts']
}

/** The same package with these scripts; null when it has them already, or is no package at all and runs nothing. */
export function withScripts(text: string, scripts: unknown): string | null {
  const fields = parse(text)
  if (fields === null || JSON.stringify(fields['scripts']) === JSON.stringify(scripts)) return null
  return `${JSON.stringify({ ...fields, scripts }, null, 2)}\n`
}

function parse(text: string): Fields | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : null
  } catch {
    // Whoever needs it fails by itself: it is judged as it is.
    return null
  }
}
