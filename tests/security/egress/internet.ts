// An internet in a network namespace of its own: it answers at every address there is, and tells its parent who was asked for what.
import { execFileSync } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer as createHttp } from 'node:http'
import { createSecureServer } from 'node:http2'
import { createServer, type Socket } from 'node:net'
import { callbackify } from 'node:util'
import { CertificateAuthority } from '../../../packages/engine/src/gateway/tls/authority.ts'
import { INTERNET_ADDRESS, KNOWN_NETWORK, type InternetReport } from './places.ts'
import { answerRequest } from './vault-server.ts'

const report: InternetReport = { strangers: [], requests: [] }
const authority = await CertificateAuthority.create()
const web = createHttp(answerRequest(report))
const secureWeb = createSecureServer(
  { allowHTTP1: true, SNICallback: callbackify((name: string) => authority.contextFor(name)) },
  answerRequest(report),
)
for (const server of [web, secureWeb]) {
  server.on('clientError', (_error: Error, socket: Socket) => socket.destroy()).on('sessionError', () => undefined)
}

/** By port, at the addresses that rules lead to. Whoever reaches anything else has found a way past the gateway. */
const SERVICES: Readonly<Record<number, (socket: Socket) => void>> = {
  80: (socket) => void web.emit('connection', socket),
  443: (socket) => void secureWeb.emit('connection', socket),
  8000: (socket) => void socket.pipe(socket),
  1080: proxy,
  3128: proxy,
}

/** A proxy that would lead anywhere, as soon as it is asked. */
function proxy(socket: Socket): void {
  socket.on('data', (asked) => {
    report.strangers.push(`a proxy heard ${asked.toString('latin1').slice(0, 40)}`)
    socket.end('HTTP/1.1 200 REACHED\r\n\r\n')
  })
}

function welcome(socket: Socket): void {
  socket.on('error', () => undefined)
  const address = (socket.localAddress ?? '').replace('::ffff:', '')
  const service = address.startsWith(KNOWN_NETWORK) ? SERVICES[socket.localPort ?? 0] : undefined
  if (service !== undefined) return service(socket)
  report.strangers.push(`a connection to ${address}:${socket.localPort}`)
  socket.end('REACHED\n')
}

process.once('message', () => {
  const ip = (...words: readonly string[]): Buffer => execFileSync('ip', words)
  ip('link', 'set', 'lo', 'up')
  ip('addr', 'add', `${INTERNET_ADDRESS}/24`, 'dev', 'inward')
  ip('link', 'set', 'inward', 'up')
  ip('route', 'add', 'local', '0.0.0.0/0', 'dev', 'lo')
  void listen().then(() => process.send?.({ root: authority.certificate }))
  process.on('message', () => process.send?.(report))
})
process.once('disconnect', () => process.exit())

async function listen(): Promise<void> {
  for (const port of [22, 53, 80, 443, 853, 1080, 3128, 7420, 8000]) {
    await once(createServer({ allowHalfOpen: true }, welcome).listen(port, '::'), 'listening')
  }
  for (const port of [53, 67, 443, 853, 4433]) {
    const socket = createSocket('udp4', (_message, from) => {
      report.strangers.push(`a datagram to port ${port}`)
      socket.send('REACHED', from.port, from.address)
    })
    await once(socket.bind(port), 'listening')
  }
}
