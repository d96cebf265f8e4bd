/** `/v1/sandboxes/ID/ports/PORT/REST` taken apart, with the rest as it was sent. Null for any other path. */
export function parsePortPath(
  url: string,
): { readonly sandbox: string; readonly port: number; readonly path: string } | null {
  const match = /^\/v1\/sandboxes\/(sb_[0-9a-z]{20})\/ports\/(\d{1,5})(\/[^?#]*)?(\?[^#]*)?$/.exec(url)
  const [, sandbox, digits, path, query] = match ?? []
  const port = Number(digits)
  if (sandbox === undefined || !(port >= 1 && port <= 65_535) || digits !== String(port)) return null
  return { sandbox, port, path: `${path ?? '/'}${query ?? ''}` }
}
