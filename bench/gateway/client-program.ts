/** Runs in a sandbox or on the host; prints what it measured as JSON. Words: what to do, and its arguments. */
export const CLIENT_PROGRAM = String.raw`
import http.client, json, socket, ssl, sys, threading, time

def first_byte(host, port):
    start = time.perf_counter()
    s = socket.create_connection((host, port), 30)
    s.sendall(b'get 1\n'); s.recv(1)
    took = time.perf_counter() - start
    s.close()
    return took * 1000

def setup(host, port, count):
    first_byte(host, int(port))
    return [first_byte(host, int(port)) for _ in range(int(count))]

# The same within the sandbox, without a gateway.
def inside(count):
    server = socket.create_server(('127.0.0.1', 0), backlog=64)
    def serve():
        while True:
            s, _ = server.accept()
            s.recv(64); s.sendall(b'x'); s.close()
    threading.Thread(target=serve, daemon=True).start()
    return setup('127.0.0.1', server.getsockname()[1], count)

def take(read, total):
    buffer, got, start = bytearray(1 << 20), 0, time.perf_counter()
    while got < total:
        count = read(buffer)
        if not count: raise SystemExit('it ended early')
        got += count
    return got / 1e6 / (time.perf_counter() - start)

def bulk(host, port, total, rounds):
    rates = []
    for _ in range(int(rounds)):
        s = socket.create_connection((host, int(port)), 30)
        s.sendall(b'get %d\n' % int(total))
        rates.append(take(s.recv_into, int(total)))
        s.close()
    return rates

def opened(host, port, total, rounds, verify):
    context = ssl.create_default_context() if verify == 'yes' else ssl._create_unverified_context()
    rates = []
    for _ in range(int(rounds)):
        connection = http.client.HTTPSConnection(host, int(port), context=context, timeout=60)
        connection.request('GET', '/' + total)
        rates.append(take(connection.getresponse().readinto, int(total)))
        connection.close()
    return rates

print(json.dumps(globals()[sys.argv[1]](*sys.argv[2:])))
`
