import type { ServerContext } from '@modelcontextprotocol/server'

const INTERVAL_MS = 5000

/** Says every few seconds that a call goes on, to clients that have asked for it: many wait longer then. */
export function tellProgress({ mcpReq }: Pick<ServerContext, 'mcpReq'>): Disposable {
  const progressToken = mcpReq._meta?.progressToken
  if (progressToken === undefined) return { [Symbol.dispose]: () => {} }
  const began = Date.now()
  const timer = setInterval(() => {
    const progress = Math.round((Date.now() - began) / 1000)
    const params = { progressToken, progress, message: `under way for ${progress} s` }
    // A client that has gone is noticed by the call itself.
    mcpReq.notify({ method: 'notifications/progress', params }).catch(() => {})
  }, INTERVAL_MS)
  return { [Symbol.dispose]: () => clearInterval(timer) }
}
