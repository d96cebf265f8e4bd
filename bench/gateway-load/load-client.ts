/** Runs in a sandbox; prints what happened as JSON. Words: what to do, and its arguments. */
export const LOAD_CLIENT = String.raw`
import json, os, socket, ssl, sys, threading, time, zlib

def take(s, total):
    got, check, buffer = 0, 0, bytearray(1 << 18)
    while got < total:
        count = s.recv_into(buffer)
        if not count: break
        check = zlib.crc32(memoryview(buffer)[:count], check)
        got += count
    return got, check

# Opens all connections, waits for a file, and only then asks for something on each.
def many(host, port, count, size):
    sockets = [socket.create_connection((host, int(port)), 60) for _ in range(int(count))]
    print('open', flush=True)
    while not os.path.exists('/tmp/go'): time.sleep(0.05)
    for s in sockets: s.sendall(b'get %d\n' % int(size))
    return [take(s, int(size)) for s in sockets]

def download(host, port, total):
    s = socket.create_connection((host, int(port)), 60)
    s.sendall(b'get %d\n' % int(total))
    start = time.perf_counter()
    got, check = take(s, int(total))
    return {'got': got, 'check': check, 'seconds': time.perf_counter() - start}

# One request after the other on each connection, for so long; every answer is compared.
def requests(host, port, connections, seconds):
    context = ssl.create_default_context()
    ask = ('GET /%%d HTTP/1.1\r\nHost: %s:%s\r\n\r\n' % (host, port)).encode()
    end = time.perf_counter() + float(seconds)
    totals = [0, 0]
    def work():
        s = context.wrap_socket(socket.create_connection((host, int(port)), 60), server_hostname=host)
        size = 1
        while time.perf_counter() < end:
            s.sendall(ask % size)
            got = b''
            while b'0\r\n\r\n' not in got and b'\r\n\r\n' + b'\1' * size != got[-size - 4:]:
                part = s.recv(65536)
                if not part: totals[1] += 1; return
                got += part
            totals[0] += 1
            if got[9:12] != b'200' or got.count(b'\1') != size: totals[1] += 1
            size = size % 100 + 1
    threads = [threading.Thread(target=work) for _ in range(int(connections))]
    start = time.perf_counter()
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    return {'answered': totals[0], 'wrong': totals[1], 'seconds': time.perf_counter() - start}

print(json.dumps(globals()[sys.argv[1]](*sys.argv[2:])))
`
