/** What a forge that is spoken to with ssh is called by https, which it speaks, too. Null for what is no such address. */
export function httpsOfSsh(address: string): string | null {
  const url = URL.parse(address)
  if (url?.protocol === 'ssh:') return `https://${url.hostname}${url.pathname}`
  const [, host, path] = /^(?:[\w.-]+@)?([\w.-]+):(?!\/\/)\/?([^\s:]\S*)$/.exec(address) ?? []
  return host === undefined || path === undefined ? null : `https://${host}/${path}`
}
