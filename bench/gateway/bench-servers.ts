import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Worker } from 'node:worker_threads'

export const NAME = 'bench.example'

/** Servers in a thread of their own, so that what they do is not counted as the gateway's. */
export interface BenchServers extends AsyncDisposable {
  /** `get N`: sends so many bytes. */
  readonly plain: number
  /** The same as the path of a request over TLS: `/N`, or `/text/N` for such text as an API answers with. */
  readonly secure: number
  readonly certificate: string
}

/** Runs without the settings of the process, from source text. */
const PROGRAM = `
const { createServer } = require('node:net')
const { createServer: createHttps } = require('node:https')
const { parentPort, workerData } = require('node:worker_threads')
const chunk = Buffer.alloc(1 << 18, 1)
const issue = { id: 4711, title: 'Fix the "build" of main', body: 'It fails:\\n\\tat line 12 & more', url: 'https://api.example/issues/4711?q=a%20b' }
const text = Buffer.alloc(1 << 18, JSON.stringify(issue) + ',\\n')
function send(stream, left, chunk) {
  const go = () => {
    while (left > 0) {
      const piece = left < chunk.length ? chunk.subarray(0, left) : chunk
      left -= piece.length
      if (!stream.write(piece)) return stream.once('drain', go)
    }
    stream.end()
  }
  go()
}
const plain = createServer((socket) => {
  socket.on('error', () => {})
  socket.once('data', (asked) => send(socket, Number(String(asked).slice(4)), chunk))
})
const secure = createHttps(workerData, ({ url }, response) => {
  send(response, Number(url.split('/').at(-1)), url.startsWith('/text/') ? text : chunk)
})
plain.listen(0, '127.0.0.1', () => secure.listen(0, '127.0.0.1', () => {
  parentPort.postMessage([plain.address().port, secure.address().port])
}))
`

export async function startBenchServers(): Promise<BenchServers> {
  const { key, cert } = await selfSigned()
  const worker = new Worker(PROGRAM, { eval: true, workerData: { key, cert } })
  const [plain, secure] = await new Promise<[number, number]>((resolve, reject) => {
    worker.once('message', resolve).once('error', reject)
  })
  return {
    plain,
    secure,
    certificate: cert,
    [Symbol.asyncDispose]: async () => {
      await worker.terminate()
    },
  }
}

async function selfSigned(): Promise<{ key: string; cert: string }> {
  const directory = await mkdtemp(join(tmpdir(), 'hearth-bench-'))
  const [key, cert] = [join(directory, 'key'), join(directory, 'cert')]
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2']
  const who = ['-subj', `/CN=${NAME}`, '-addext', `subjectAltName=DNS:${NAME}`]
  try {
    await promisify(execFile)('openssl', ['req', '-x509', ...kind, '-keyout', key, '-out', cert, ...who])
    return { key: await readFile(key, 'utf8'), cert: await readFile(cert, 'utf8') }
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}
