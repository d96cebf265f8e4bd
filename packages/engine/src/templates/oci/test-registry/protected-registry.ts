import { execFileSync } from 'node:child_process'
import { createPrivateKey, sign, X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { LocalRegistry } from './local-registry.ts'

/** Whom a protected registry lets in. */
export const LOGIN = { username: 'puller', password: 'very-secret-password' }
export const BASIC = `Basic ${Buffer.from(`${LOGIN.username}:${LOGIN.password}`).toString('base64')}`
/** The same password, as `htpasswd -B` writes it. */
const HTPASSWD = `${LOGIN.username}:$2b$05$abcdefghijklmnopqrstuu8XRbgOxbsNvAte7v7otLahkLnSfq/Jm\n`

/** The images of a registry behind one that demands a password. */
export async function demandPassword({ data }: LocalRegistry): Promise<{ host: string } & AsyncDisposable> {
  const directory = mkdtempSync(join(tmpdir(), 'hearth-htpasswd-'))
  const path = join(directory, 'htpasswd')
  writeFileSync(path, HTPASSWD)
  const registry = await LocalRegistry.start({ data, auth: { htpasswd: { realm: 'images', path } } })
  return {
    host: registry.host,
    [Symbol.asyncDispose]: async () => {
      await registry[Symbol.asyncDispose]()
      rmSync(directory, { recursive: true })
    },
  }
}

/** The same behind one that demands tokens, and a server that gives them out to whoever has the password. */
export async function demandToken({ data }: LocalRegistry): Promise<{ host: string } & AsyncDisposable> {
  const directory = mkdtempSync(join(tmpdir(), 'hearth-tokens-'))
  const [keyFile, rootcertbundle] = [join(directory, 'key.pem'), join(directory, 'certificate.pem')]
  const subject = ['-subj', '/CN=tokens', '-days', '2', '-keyout', keyFile, '-out', rootcertbundle]
  execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', ...subject], { stdio: 'ignore' })
  const issue = tokenIssuer(readFileSync(keyFile, 'utf8'), readFileSync(rootcertbundle, 'utf8'))
  const server = createServer((request, response) => {
    const token = request.headers.authorization === BASIC ? issue(request) : null
    response.writeHead(token === null ? 401 : 200).end(JSON.stringify({ token }))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  const realm = `http://127.0.0.1:${port}/token`
  const registry = await LocalRegistry.start({
    data,
    auth: { token: { realm, service: 'images', issuer: 'tokens', rootcertbundle } },
  })
  return {
    host: registry.host,
    [Symbol.asyncDispose]: async () => {
      await registry[Symbol.asyncDispose]()
      server.closeAllConnections()
      server.close()
      rmSync(directory, { recursive: true })
    },
  }
}

/** Tokens as the registry checks them: for what was asked for, signed, with the certificate of the signer. */
function tokenIssuer(key: string, certificate: string): (request: IncomingMessage) => string {
  const x5c = [new X509Certificate(certificate).raw.toString('base64')]
  const encoded = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url')
  return (request) => {
    const asked = new URL(request.url ?? '', 'http://tokens').searchParams
    const [type, name, actions = ''] = (asked.get('scope') ?? '').split(':')
    const now = Math.floor(Date.now() / 1000)
    const claims = { iss: 'tokens', aud: asked.get('service'), sub: LOGIN.username, nbf: now - 10, exp: now + 60 }
    const access = [{ type, name, actions: actions.split(',') }]
    const text = `${encoded({ typ: 'JWT', alg: 'RS256', x5c })}.${encoded({ ...claims, access })}`
    return `${text}.${sign('RSA-SHA256', Buffer.from(text), createPrivateKey(key)).toString('base64url')}`
  }
}
