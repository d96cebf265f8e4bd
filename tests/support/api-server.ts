import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { Hearth } from '@hearth/engine'
import { openStore } from '@hearth/server/state'
import { pino } from 'pino'
import { ensureFirstKey } from '../../packages/server/src/http/access/first-key.ts'
import { createServer } from '../../packages/server/src/http/server.ts'
import { LocalControlPlane } from '../../packages/server/src/lifecycle/local-control-plane.ts'

/** A server in a process of its own: prints where it listens as a line of JSON, and stays until it is told to stop, or is killed. */
const [home = '', port = '0', secret = randomBytes(32).toString('hex')] = process.argv.slice(2)
const logger = pino({ level: process.env['HEARTH_TEST_LOG'] ?? 'silent' }, pino.destination(2))
const store = await openStore({ url: `sqlite:${join(home, 'hearth.db')}` })
const first = await ensureFirstKey(store)
const controlPlane = await LocalControlPlane.open({
  store,
  hearth: new Hearth({ home }),
  onProblem: (what, error) => logger.error({ err: error }, what),
})
const server = createServer({
  controlPlane,
  keys: store.apiKeys,
  events: store.events,
  tenants: store.tenants,
  logger,
  listen: { port: Number(port) },
  linkSecret: Buffer.from(secret, 'hex'),
})
await server.start()
process.once('SIGTERM', () => {
  void server
    .stop({ graceMs: 1000 })
    .then(() => controlPlane.close())
    .then(() => process.exit(0))
})
process.stdout.write(`${JSON.stringify({ url: server.url, key: first?.token ?? null })}\n`)
