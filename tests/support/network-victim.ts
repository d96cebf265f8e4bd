// Owns a sandbox in which a program reads from a name, until it is killed: `network-victim.ts RUNG PORT`. Says which sandbox on one line.
import { Hearth } from '@hearth/engine'

const [rung = 'process', port = '0'] = process.argv.slice(2)
const hearth = new Hearth({ spareKeepers: 0, gateway: { resolve: async () => ['127.0.0.1'] } })
const sandbox = await hearth.create({
  rung: rung as 'process',
  policy: { allow: [{ name: 'allowed.example', ports: [Number(port)], addresses: ['127.0.0.0/8'] }] },
})
const program = `
import socket, time
a = socket.gethostbyname('allowed.example')
def read():
    s = socket.create_connection((a, ${port}), 30); s.sendall(b'more\\n')
    s.recv(65536); print('reads', flush=True)
    while True:
        if not s.recv(65536): return
while True:
    try: read()
    except OSError as e: print(type(e).__name__, flush=True)
    time.sleep(0.1)
`
const reader = await sandbox.spawn(['python3', '-c', program])
for await (const chunk of reader.output) if (Buffer.from(chunk.data).includes('reads')) break
console.log(JSON.stringify({ sandbox: sandbox.id, process: reader.id }))
setInterval(() => undefined, 1000)
