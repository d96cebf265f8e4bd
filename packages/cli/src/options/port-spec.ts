import { InvalidArgumentError } from 'commander'

/** A port in a sandbox and, after a colon, the one of this machine that leads to it; 0 there is any free one. */
export interface PortSpec {
  readonly port: number
  readonly local: number | null
}

/** `8080`, `8080:3000`, `8080:` (the same number here) or `8080:0`. */
export function parsePortSpec(text: string): PortSpec {
  const match = /^(\d{1,5})(?::(\d{0,5}))?$/.exec(text)
  const port = Number(match?.[1])
  const local = match?.[2] === undefined ? null : match[2] === '' ? port : Number(match[2])
  if (match !== null && port >= 1 && port <= 65_535 && (local === null || local <= 65_535)) return { port, local }
  throw new InvalidArgumentError('It must be PORT or PORT:LOCAL, like 8080 or 8080:3000.')
}

export function parsePort(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : -1
  if (port < 0 || port > 65_535) throw new InvalidArgumentError('It must be a number from 0 to 65535.')
  return port
}
