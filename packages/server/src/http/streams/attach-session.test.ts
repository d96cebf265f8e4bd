import { expect, it } from 'vitest'
import { HearthError, type AttachEvent, type Process } from '@hearth/contract'
import { attachSession } from './attach-session.ts'
import type { FrameSocket } from './frame-socket.ts'

it('tells how a process ended whose terminal is resized, signalled and closed while it ends', async () => {
  const ended = async (): Promise<never> => {
    throw new HearthError('process_not_found', 'process 7 has ended')
  }
  const obeyed = Promise.withResolvers<void>()
  const process: Partial<Process> = {
    id: 7,
    pid: 70,
    // Its last output comes after the client has asked for all of this.
    output: (async function* () {
      await obeyed.promise
      yield { stream: 'stdout', data: Buffer.from('end'), offset: 0, dropped: 0 } as const
    })(),
    resize: ended,
    signal: ended,
    closeStdin: ended,
    wait: async () => ({ exitCode: 5, signal: null, timedOut: false, oom: false, durationMs: 1 }) as never,
    detach: async () => undefined,
  }
  const told: unknown[] = []
  const requests = [{ type: 'resize', rows: 40, cols: 90 }, { type: 'signal', signal: 'SIGWINCH' }, { type: 'eof' }]
  const socket = {
    open: true,
    onClose: () => undefined,
    frames: async function* () {
      for (const request of requests) yield { kind: 'text', text: JSON.stringify(request) }
      obeyed.resolve()
    },
    sendEvent: async (event: AttachEvent) => void told.push(event.type),
    sendBytes: async () => undefined,
    fail: async (error: HearthError) => {
      told.push(error.code)
      obeyed.resolve()
    },
    close: () => void told.push('close'),
  }
  await attachSession(socket as unknown as FrameSocket, process as Process)
  expect(told).toEqual(['attached', 'position', 'exit', 'close'])
})
