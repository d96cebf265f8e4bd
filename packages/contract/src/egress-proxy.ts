/**
 * The name at which programs of a sandbox with `policy: { proxy: true }` find a proxy of HTTP. For every other sandbox it does not exist,
 * whatever its policy says. It leads to nothing that a connection straight to the name would not.
 */
export const EGRESS_PROXY_NAME = 'proxy.hearth.internal'
export const EGRESS_PROXY_PORT = 3128

const ADDRESS = `http://${EGRESS_PROXY_NAME}:${EGRESS_PROXY_PORT}`
const NEVER = 'localhost,127.0.0.1,::1'

/** In both spellings, since each program reads another one. */
export const EGRESS_PROXY_ENVIRONMENT = {
  HTTP_PROXY: ADDRESS,
  http_proxy: ADDRESS,
  HTTPS_PROXY: ADDRESS,
  https_proxy: ADDRESS,
  NO_PROXY: NEVER,
  no_proxy: NEVER,
} as const satisfies Readonly<Record<string, string>>
