import { networkInterfaces } from 'node:os'
import type { Attempt } from '../attempt.ts'

function onlyLoopback(): string | null {
  return Object.keys(networkInterfaces()).every((name) => name === 'lo')
    ? 'the host has no interface but loopback itself'
    : null
}

/** Services and routes of the host. Only loopback addresses are ever tried. */
export const NETWORK: readonly Attempt[] = [
  {
    name: "a service on the host's loopback",
    aim: 'host',
    parameters: (stage) => [String(stage.port)],
    body: 'return socket.create_connection(("127.0.0.1", int(argv[0])), 3).recv(100)',
  },
  {
    name: "any address of loopback leads to the host's service",
    aim: 'host',
    parameters: (stage) => [String(stage.port)],
    body: `
for address in ("127.0.0.1", "127.0.0.2", "127.1.2.3", "0.0.0.0", "localhost"):
    try: return socket.create_connection((address, int(argv[0])), 2).recv(100)
    except OSError: pass
raise OSError("none")`,
  },
  {
    name: 'an abstract socket of the host',
    aim: 'host',
    parameters: (stage) => [stage.abstractName],
    body: `
client = socket.socket(socket.AF_UNIX)
client.connect("\\0" + argv[0])
return client.recv(100)`,
  },
  {
    name: 'any abstract socket that is listed',
    aim: 'host',
    parameters: (stage) => [stage.reversedSecret],
    body: `
names = [line.split()[-1] for line in open("/proc/net/unix") if line.split()[-1].startswith("@hearth-stage-")]
for name in names:
    try:
        client = socket.socket(socket.AF_UNIX)
        client.settimeout(2)
        client.connect("\\0" + name[1:])
        return client.recv(100)
    except OSError: pass
raise OSError("none of %d" % len(names))`,
  },
  {
    name: 'a socket file of the host',
    aim: 'host',
    parameters: (stage) => [stage.socketPath],
    body: `
for prefix in ("", "/proc/1/root", "/proc/self/root"):
    try:
        client = socket.socket(socket.AF_UNIX)
        client.connect(prefix + argv[0])
        return client.recv(100)
    except OSError: pass
raise OSError("none")`,
  },
  {
    name: 'an interface besides loopback',
    aim: 'host',
    controlObstacle: onlyLoopback,
    body: `
others = [name for _, name in socket.if_nameindex() if name != "lo" and not name.startswith(("sit", "tunl", "ip6tnl", "dummy"))]
if not others: raise OSError("only loopback")
return others`,
  },
  {
    name: 'a route to anywhere',
    aim: 'host',
    controlObstacle: onlyLoopback,
    body: `
probe = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
probe.connect(("192.0.2.1", 9))
return probe.getsockname()`,
  },
]
