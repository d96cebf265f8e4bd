import type { ExecResult, OutputChunk, Process } from '@hearth/contract'

/** Reads a process to its end. Keeps the first `limit` bytes; counts the rest, so that a flood costs no memory here. */
export async function collectOutput(process: Process, limit: number): Promise<ExecResult> {
  const kept: OutputChunk[] = []
  let keptBytes = 0
  let totalOutputBytes = 0
  let dropped = 0
  for await (const chunk of process.output) {
    dropped += chunk.dropped
    totalOutputBytes = chunk.offset + chunk.data.length
    const room = limit - keptBytes
    if (room <= 0) continue
    const data = chunk.data.length > room ? chunk.data.subarray(0, room) : chunk.data
    keptBytes += data.length
    kept.push({ ...chunk, data })
  }
  const exit = await process.wait()
  const stdoutBytes = join(kept, 'stdout')
  const stderrBytes = join(kept, 'stderr')
  return {
    ...exit,
    stdoutBytes,
    stderrBytes,
    stdout: decode(stdoutBytes),
    stderr: decode(stderrBytes),
    get output() {
      return decode(Buffer.concat(kept.map((chunk) => chunk.data)))
    },
    truncated: totalOutputBytes > keptBytes || dropped > 0,
    totalOutputBytes,
  }
}

function join(chunks: readonly OutputChunk[], stream: OutputChunk['stream']): Uint8Array {
  const parts = chunks.filter((chunk) => chunk.stream === stream).map((chunk) => chunk.data)
  return parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts)
}

function decode(bytes: Uint8Array): string {
  return bytes.length === 0 ? '' : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')
}
