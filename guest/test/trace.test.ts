import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { DECODERS, GUEST_MESSAGES } from '../../packages/engine/src/link/messages.gen.ts'
import { PayloadReader } from '../../packages/engine/src/link/wire.ts'
import { PROGRAM } from './keeper-harness.ts'

/** The kernel of a sandbox: takes one call with one descriptor, answers as it is told, and says what the test wants it to say. */
const KERNEL = `
import array, json, os, socket, struct, sys
place, answer = sys.argv[1], sys.argv[2]
server = socket.socket(socket.AF_UNIX); server.bind(place); server.listen(1)
print('listening', flush=True)
peer, _ = server.accept()
call, descriptors, _, _ = socket.recv_fds(peer, 65536, 4)
points = [point['name'] for point in json.loads(call)['arg']['Config']['points']]
assert len(descriptors) == 1 and 'sentry/execve' in points, call
peer.sendall(answer.encode())
sink = socket.socket(fileno=descriptors[0])
sink.setblocking(True)
def varint(value):
    out = b''
    while value > 127: out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])
def number(field, value): return varint(field << 3) + varint(value)
def text(field, value): return varint(field << 3 | 2) + varint(len(value)) + value
def say(kind, *fields, dropped=0): sink.send(struct.pack('<HHI', 8, kind, dropped) + b''.join(fields))
def context(pid, at=10**9): return text(1, number(1, at) + number(4, pid))
def clone(parent, child, thread=None): say(2, context(parent), number(3, thread or child), number(4, child))
def execve(pid, *argv, **more): say(3, context(pid, more.get('at', 10**9)), text(2, argv[0]), *[text(3, word) for word in argv])
def ended(pid, status, at=3 * 10**9): say(4, context(pid, at), number(2, status))
exec(sys.stdin.read())
`

let place: string
beforeEach(() => (place = join(mkdtempSync(join(tmpdir(), 'trace-')), 'control')))
afterEach(() => rmSync(join(place, '..'), { recursive: true, force: true }))

/** What the program tells of what that kernel says. */
async function told(script: string, answer = '{"success":true}'): Promise<{ frames: unknown[]; error: string }> {
  const kernel = spawn('python3', ['-c', KERNEL, place, answer], { stdio: ['pipe', 'pipe', 'inherit'] })
  kernel.stdin.on('error', () => undefined).end(script)
  await new Promise((resolve) => kernel.stdout.once('data', resolve))
  const program = spawn(PROGRAM, ['trace', place], { stdio: ['ignore', 'pipe', 'pipe'] })
  const [output, error] = await Promise.all([buffer(program.stdout), buffer(program.stderr)])
  kernel.kill()
  return { frames: framesOf(output), error: error.toString() }
}

function framesOf(bytes: Buffer): unknown[] {
  const frames: unknown[] = []
  for (let at = 0; at < bytes.length;) {
    const end = at + 12 + bytes.readUInt32LE(at)
    const name = GUEST_MESSAGES.get(bytes[at + 4] ?? 0)
    if (name === undefined) throw new Error('no message')
    frames.push({ name, ...DECODERS[name](new PayloadReader(bytes.subarray(at + 12, end))) })
    at = end
  }
  return frames
}

const counted = (frames: readonly unknown[]): number =>
  (frames as { name: string; count: number }[]).reduce(
    (sum, { name, count }) => sum + (name === 'Missed' ? count : 0),
    0,
  )
const ofName = (frames: readonly unknown[], name: string): Record<string, unknown>[] =>
  (frames as Record<string, unknown>[]).filter((frame) => frame['name'] === name)

describe('the processes of a gVisor sandbox', () => {
  it('are told with their command, also when those in between are gone', async () => {
    const { frames } = await told(`
clone(1, 2); clone(2, 3); execve(3, b'sh', b'-c', b'')
clone(3, 3, thread=4)
clone(3, 5); clone(5, 6); ended(5, 0); execve(6, b'sleep', b'1'); ended(3, 0x300); ended(6, 9, at=2 * 10**9)`)
    expect(frames).toEqual([
      { name: 'Missed', count: 0 },
      { name: 'Executed', pid: 3, parent: 2, root: 3, flags: 0, argv: ['sh', '-c', ''] },
      { name: 'Executed', pid: 6, parent: 5, root: 3, flags: 0, argv: ['sleep', '1'] },
      { name: 'Ended', pid: 3, root: 3, code: 3, signal: 0, durationMicroseconds: 2_000_000n },
      { name: 'Ended', pid: 6, root: 3, code: 0, signal: 9, durationMicroseconds: 1_000_000n },
    ])
  })

  it('are bounded in length and number, and what is missing is counted', async () => {
    const { frames } = await told(`
clone(1, 2); clone(2, 3)
execve(3, *[b'x' * 1000] * 50)
execve(3, *[b'y'] * 1000)
for i in range(5000): execve(3, b'true')
say(3, context(3), dropped=7)`)
    const executed = ofName(frames, 'Executed')
    const sizes = executed.map(({ argv }) => (argv as string[]).reduce((sum, word) => sum + word.length, 0))
    expect(Math.max(...sizes)).toBeLessThanOrEqual(4096)
    expect(Math.max(...executed.map(({ argv }) => (argv as string[]).length))).toBe(256)
    expect(executed[0]?.['flags']).toBe(1)
    // As many as may come at once, and a hundred for each second that it takes.
    expect(executed.length).toBeGreaterThanOrEqual(1000)
    expect(executed.length).toBeLessThan(2500)
    expect(executed.length + counted(frames)).toBe(5003 + 7)
  })

  it('are not believed blindly: what is no packet is passed over', async () => {
    const { frames } = await told(`
import random
random.seed(1)
for i in range(2000): sink.send(random.randbytes(random.randrange(1, 300)))
for kind in range(8):
    for i in range(200): sink.send(struct.pack('<HHI', 8, kind, 0) + random.randbytes(random.randrange(0, 300)))
sink.send(b'x' * 200000)
clone(1, 2); clone(2, 3); execve(3, b'after')`)
    expect(ofName(frames, 'Executed').some(({ argv }) => (argv as string[])[0] === 'after')).toBe(true)
  })

  it('cannot be followed where the kernel refuses, and it says why', async () => {
    const { frames, error } = await told('', '{"success":false,"err":"no such point"}')
    expect([frames, error]).toEqual([[], expect.stringContaining('no such point')])
  })
})
