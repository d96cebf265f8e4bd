import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** One place that apt takes packages from, whichever of its two formats it was written in. */
export interface AptSource {
  readonly uris: readonly string[]
  readonly suites: readonly string[]
  readonly components: readonly string[]
  /** A key file, or an inline key block; null when apt uses its global keys. */
  readonly signedBy: string | null
}

export const BACKPORTS_FILE = '/etc/apt/sources.list.d/hearth-backports.sources'

/** All sources of binary packages that this machine has. */
export async function readAptSources(directory = '/etc/apt'): Promise<AptSource[]> {
  const parts = join(directory, 'sources.list.d')
  const names = await readdir(parts).catch(() => [])
  const lists = [
    join(directory, 'sources.list'),
    ...names.filter((name) => name.endsWith('.list')).map((name) => join(parts, name)),
  ]
  const deb822 = names.filter((name) => name.endsWith('.sources')).map((name) => join(parts, name))
  const read = async (path: string): Promise<string> => await readFile(path, 'utf8').catch(() => '')
  return [
    ...(await Promise.all(lists.map(read))).flatMap(parseOneLineSources),
    ...(await Promise.all(deb822.map(read))).flatMap(parseDeb822Sources),
  ]
}

/** `deb [option=value ...] URI SUITE COMPONENT...` */
export function parseOneLineSources(text: string): AptSource[] {
  return text.split('\n').flatMap((line) => {
    const match = /^\s*deb\s+(?:\[([^\]]*)\]\s+)?(\S+)\s+(\S+)((?:\s+[^#\s]+)*)/.exec(line)
    if (match === null) return []
    const signedBy = /(?:^|\s)signed-by=(\S+)/.exec(match[1] ?? '')?.[1] ?? null
    return [{ uris: [match[2] ?? ''], suites: [match[3] ?? ''], components: words(match[4] ?? ''), signedBy }]
  })
}

/** Stanzas of `Field: value`, continuation lines begin with a space. */
export function parseDeb822Sources(text: string): AptSource[] {
  const withoutComments = text
    .split('\n')
    .filter((line) => !line.startsWith('#'))
    .join('\n')
  return withoutComments.split(/\n[ \t]*\n/).flatMap((stanza) => {
    const fields = new Map<string, string>()
    let current = ''
    for (const line of stanza.split('\n')) {
      const match = /^([A-Za-z-]+):(.*)$/.exec(line)
      if (match !== null) {
        current = (match[1] ?? '').toLowerCase()
        fields.set(current, (match[2] ?? '').trim())
      } else if (/^[ \t]/.test(line) && current !== '') {
        fields.set(current, `${fields.get(current) ?? ''}\n${line}`)
      }
    }
    const enabled = !/^(no|false|off|0)$/i.test(fields.get('enabled') ?? 'yes')
    if (!enabled || !words(fields.get('types') ?? '').includes('deb')) return []
    return [
      {
        uris: words(fields.get('uris') ?? ''),
        suites: words(fields.get('suites') ?? ''),
        components: words(fields.get('components') ?? ''),
        signedBy: fields.get('signed-by') ?? null,
      },
    ]
  })
}

/** A source file for the backports of `codename`, from where this machine gets that release; null when there is none to derive it from. */
export function backportsSource(sources: readonly AptSource[], codename: string): string | null {
  const release = sources.find((source) => source.suites.includes(codename) && source.components.includes('main'))
  if (release === undefined) return null
  const signedBy =
    release.signedBy === null ? '' : `Signed-By:${release.signedBy.startsWith('\n') ? '' : ' '}${release.signedBy}\n`
  return `Types: deb\nURIs: ${release.uris.join(' ')}\nSuites: ${codename}-backports\nComponents: main\n${signedBy}`
}

export function hasBackports(sources: readonly AptSource[], codename: string): boolean {
  return sources.some((source) => source.suites.includes(`${codename}-backports`) && source.components.includes('main'))
}

function words(text: string): string[] {
  return text.split(/\s+/).filter((word) => word !== '')
}
