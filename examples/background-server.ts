// Starts a server in the background and talks to it. The sandbox has no network: the port is reached through its link.
import { Hearth } from 'hearth'

await using hearth = new Hearth()
await using sandbox = await hearth.create({ workdir: '/tmp' })

await sandbox.files.write('/tmp/index.html', 'hello from inside\n')
const server = await sandbox.spawn(['python3', '-m', 'http.server', '8000', '--bind', '127.0.0.1'], {
  mergeOutput: true,
})
await server.detach()

const port = sandbox.port(8000)
await port.ready({ timeoutMs: 30_000 })
await using connection = await port.connect()
await connection.write(new TextEncoder().encode('GET / HTTP/1.0\r\n\r\n'))

const chunks: Uint8Array[] = []
for await (const chunk of connection.data) chunks.push(chunk)
const [head = '', body = ''] = Buffer.concat(chunks).toString().split('\r\n\r\n')
console.log(head.split('\r\n')[0])
console.log(body.trim())
