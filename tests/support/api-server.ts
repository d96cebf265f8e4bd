import { serve } from '@hearth/server'

/** A server in a process of its own: says where it listens in a line of JSON, and stays until it is told to stop, or is killed. */
const [home = '', port = '0', ...names] = process.argv.slice(2)
// Receivers of webhooks are on loopback in tests.
const webhooks = { networks: ['127.0.0.0/8'], retryMs: 100 }
const dialects = Object.fromEntries(names.map((name) => [name, { port: 0, ...(name === 'e2b' ? { webhooks } : {}) }]))
// So is everything that sandboxes reach by a name.
const engine = { gateway: { resolve: async () => ['127.0.0.1'] } }
const server = await serve({ home, port: Number(port), prepare: false, dialects, engine })
process.once('SIGTERM', () => {
  void server.stop({ graceMs: 1000 }).then(() => process.exit(0))
})
const serving = { url: server.url, key: server.firstKey?.token ?? null, dialects: server.dialects }
process.stdout.write(`${JSON.stringify({ serving })}\n`)
