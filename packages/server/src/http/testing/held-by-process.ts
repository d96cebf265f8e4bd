// For tests: what this process holds of the kernel, to be compared before and after.
import { readdirSync, readFileSync } from 'node:fs'

export interface Held {
  readonly descriptors: number
  readonly children: number
  /** Sockets and pipes that the event loop waits for. */
  readonly streams: number
}

const STREAMS = new Set(['TCPSocketWrap', 'TCPWrap', 'PipeWrap', 'TTYWrap'])

export function heldByProcess(): Held {
  return {
    descriptors: readdirSync('/proc/self/fd').length,
    children: readdirSync('/proc').filter((name) => /^\d+$/.test(name) && parentOf(name) === process.pid).length,
    streams: process.getActiveResourcesInfo().filter((name) => STREAMS.has(name)).length,
  }
}

function parentOf(pid: string): number | null {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /s, '')
    return Number(fields.split(' ')[1])
  } catch {
    // It has ended since the list was read.
    return null
  }
}
