import type { Sandbox } from '@hearth/contract'

/** Something that a program in a sandbox tries. The outcome is what came back, or the name of the error. */
export type Attempt =
  | readonly ['tcp', host: string, port: number, data: string]
  /** As `tcp`, and goes on listening without having ended. */
  | readonly ['say', host: string, port: number, data: string]
  | readonly ['tls', host: string, port: number, serverName: string | null]
  | readonly ['read', host: string, port: number, bytes: number]
  | readonly ['resolve', name: string]
  | readonly ['datagram', host: string, port: number]
  | readonly ['raw']

const PROGRAM = String.raw`
import json, socket, ssl, sys

def connect(host, port): return socket.create_connection((host, port), 10)

def tcp(host, port, data):
    s = connect(host, port)
    if data: s.sendall(data.encode()); s.shutdown(socket.SHUT_WR)
    return s.recv(64).decode() or 'end'

def say(host, port, data):
    s = connect(host, port); s.sendall(data.encode())
    return s.recv(64).decode() or 'end'

def tls(host, port, name):
    context = ssl._create_unverified_context()
    context.check_hostname = False
    s = context.wrap_socket(connect(host, port), server_hostname=name)
    s.sendall(b'over tls'); return s.recv(64).decode()

def read(host, port, count):
    s = connect(host, port); got = 0
    try:
        # It may be over already: the server speaks first.
        s.sendall(b'more\n')
        while got < count:
            k = len(s.recv(65536))
            if k == 0: break
            got += k
    except (ConnectionResetError, BrokenPipeError): pass
    return got

def resolve(name): return socket.gethostbyname(name)

def datagram(host, port):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(3); s.connect((host, port)); s.send(b'x'); return s.recv(10).decode()

def raw():
    socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP); return 'open'

for kind, *rest in json.loads(sys.argv[1]):
    try: out = globals()[kind](*rest)
    except Exception as e: out = type(e).__name__
    print(json.dumps(out), flush=True)
`

/** Makes them one after the other in one program, in the environment of any command. */
export async function attempt(sandbox: Sandbox, ...attempts: readonly Attempt[]): Promise<unknown[]> {
  const result = await sandbox.exec(['python3', '-c', PROGRAM, JSON.stringify(attempts)], { timeoutMs: 60_000 })
  if (result.exitCode !== 0) throw new Error(`the attempts failed: ${result.stderr}`)
  return result.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown)
}
