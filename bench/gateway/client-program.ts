/** Runs in a sandbox or on the host; prints what it measured as JSON. Words: what to do, and its arguments. A proxy is the port of one on the loopback, or `no`. */
export const CLIENT_PROGRAM = String.raw`
import json, socket, ssl, sys, threading, time

def connect(host, port, proxy):
    if proxy == 'no': return socket.create_connection((host, int(port)), 60)
    s = socket.create_connection(('127.0.0.1', int(proxy)), 60)
    s.sendall(('CONNECT %s:%s HTTP/1.1\r\nHost: %s:%s\r\n\r\n' % (host, port, host, port)).encode())
    got = b''
    while b'\r\n\r\n' not in got: got += s.recv(4096)
    if b' 200 ' not in got.split(b'\r\n')[0]: raise SystemExit(got.decode())
    return s

def first_byte(host, port, proxy):
    start = time.perf_counter()
    s = connect(host, port, proxy)
    s.sendall(b'get 1\n'); s.recv(1)
    took = time.perf_counter() - start
    s.close()
    return took * 1000

def setup(host, port, count, proxy='no'):
    first_byte(host, port, proxy)
    return [first_byte(host, port, proxy) for _ in range(int(count))]

# The same within the sandbox, without a gateway.
def inside(count):
    server = socket.create_server(('127.0.0.1', 0), backlog=64)
    def serve():
        while True:
            s, _ = server.accept()
            s.recv(64); s.sendall(b'x'); s.close()
    threading.Thread(target=serve, daemon=True).start()
    return setup('127.0.0.1', server.getsockname()[1], count)

def context(verify):
    return ssl.create_default_context() if verify == 'yes' else ssl._create_unverified_context()

def ask(s, host, port, path):
    s.sendall(('GET %s HTTP/1.1\r\nHost: %s:%s\r\n\r\n' % (path, host, port)).encode())

def answered(s):
    got = b''
    while b'\r\n\r\n' not in got: got += s.recv(65536)
    head, _, body = got.partition(b'\r\n\r\n')
    if b' 200 ' not in head.split(b'\r\n')[0]: raise SystemExit(got.decode())
    while b'0\r\n\r\n' not in body if b'chunked' in head.lower() else not body: body += s.recv(65536)

# Small requests: each on a connection of its own, or all on one.
def requests(host, port, count, verify, proxy, kept):
    trust, took, s = context(verify), [], None
    for _ in range(int(count) + 1):
        start = time.perf_counter()
        if s is None: s = trust.wrap_socket(connect(host, port, proxy), server_hostname=host)
        ask(s, host, port, '/100'); answered(s)
        took.append((time.perf_counter() - start) * 1000)
        if kept == 'no': s.close(); s = None
    return took[1:]

def take(read, total):
    buffer, got, start = bytearray(1 << 20), 0, time.perf_counter()
    while got < total:
        count = read(buffer)
        if not count: raise SystemExit('it ended early')
        got += count
    return got / 1e6 / (time.perf_counter() - start)

def bulk(host, port, total, rounds, proxy='no'):
    rates = []
    for _ in range(int(rounds)):
        s = connect(host, port, proxy)
        s.sendall(b'get %d\n' % int(total))
        rates.append(take(s.recv_into, int(total)))
        s.close()
    return rates

def opened(host, port, path, total, rounds, verify, proxy='no'):
    rates, trust = [], context(verify)
    for _ in range(int(rounds)):
        s = trust.wrap_socket(connect(host, port, proxy), server_hostname=host)
        ask(s, host, port, path + total)
        # Its head, and what holds chunks together, besides.
        rates.append(take(s.recv_into, int(total)))
        s.close()
    return rates

print(json.dumps(globals()[sys.argv[1]](*sys.argv[2:])))
`
