const UNITS: readonly (readonly [suffix: string, milliseconds: number])[] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
]

/** `45s`, `12m`, `5h`, `3d`: the two largest units would be more than anybody reads in a table. */
export function formatDuration(milliseconds: number): string {
  const positive = Math.max(0, milliseconds)
  const [suffix, unit] = UNITS.find(([, size]) => positive >= 2 * size) ?? ['s', 1000]
  return `${Math.floor(positive / unit)}${suffix}`
}

/** How long ago. */
export function formatAge(date: Date, now = Date.now()): string {
  return formatDuration(now - date.getTime())
}

/** How long until then; `never` for what has no end. */
export function formatUntil(date: Date | null, now = Date.now()): string {
  if (date === null) return 'never'
  return date.getTime() <= now ? 'over' : `in ${formatDuration(date.getTime() - now)}`
}

/** `2026-11-18 03:46:05`, in the time zone of the reader. */
export function formatMoment(date: Date): string {
  const pad = (value: number): string => String(value).padStart(2, '0')
  const day = `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())}`
  return `${day} ${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())}`
}
