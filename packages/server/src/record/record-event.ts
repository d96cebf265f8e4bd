import type { RecordEntry } from '@hearth/contract'

/** How entries are called in the timeline of a sandbox, beside what the server itself does to it. */
const TYPES = {
  command: 'command.started',
  exit: 'command.exited',
  code: 'code.run',
  process: 'process.started',
  'process-exit': 'process.exited',
  file: 'file.changed',
  opened: 'network.opened',
  progress: 'network.progress',
  connection: 'network.connection',
  request: 'network.request',
  refusal: 'network.refused',
} as const satisfies Record<RecordEntry['kind'], string>

/** Longer texts are cut, also within lists, and so are longer lists. */
const MOST_CHARACTERS = 4096
const MOST_ITEMS = 256

/** An entry as an event, of bounded size whatever is in it. `bytes` is about what it takes. */
export function recordEvent(
  entry: RecordEntry,
  step: string | null,
): { readonly type: string; readonly data: Record<string, unknown>; readonly bytes: number } {
  const { kind, ...facts } = entry
  const data: Record<string, unknown> = {}
  let bytes = 128
  for (const [name, value] of Object.entries({ ...facts, ...(step === null ? {} : { step }) })) {
    const cut = bounded(value, MOST_CHARACTERS)
    data[name] = cut.value
    bytes += name.length + cut.bytes
  }
  return { type: TYPES[kind], data, bytes }
}

function bounded(value: unknown, characters: number): { readonly value: unknown; readonly bytes: number } {
  if (typeof value === 'string') {
    const cut = value.length > characters ? `${value.slice(0, characters)}…` : value
    return { value: cut, bytes: cut.length * 2 }
  }
  if (typeof value === 'number') return { value: Math.round(value), bytes: 16 }
  if (!Array.isArray(value)) return { value, bytes: 16 }
  // A list has as much room as one text.
  let left = characters
  const kept: unknown[] = []
  for (const item of value.slice(0, MOST_ITEMS) as unknown[]) {
    const cut = bounded(item, left)
    kept.push(cut.value)
    left = Math.max(0, left - cut.bytes / 2)
  }
  if (value.length > MOST_ITEMS) kept.push('…')
  return { value: kept, bytes: (characters - left) * 2 + kept.length * 8 }
}
