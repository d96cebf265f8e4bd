// For tests: programs that listen on ports inside a sandbox.

/** Answers with what it was sent; speaks enough WebSocket to echo a handshake and bytes; ends badly when asked to. */
export const PROGRAM = String.raw`
import base64, hashlib, json, socketserver
class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        line = self.rfile.readline().decode('latin1').split(' ')
        headers = []
        while True:
            header = self.rfile.readline().decode('latin1').rstrip('\r\n')
            if not header: break
            headers.append(header.split(': ', 1))
        given = {name.lower(): value for name, value in headers}
        path = line[1]
        if given.get('upgrade') == 'websocket':
            key = given['sec-websocket-key'] + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'
            accept = base64.b64encode(hashlib.sha1(key.encode()).digest()).decode()
            self.wfile.write(('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n' % accept).encode())
            text = json.dumps(headers).encode()
            self.wfile.write(bytes([0x81, 126, len(text) >> 8, len(text) & 255]) + text)
            self.rfile.read(1)
            return
        if path == '/garbage':
            self.wfile.write(b'this is no HTTP\r\n\r\n'); return
        if path == '/silent':
            self.rfile.read(1); return
        if path == '/cut':
            self.wfile.write(b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort'); return
        body = self.rfile.read(int(given.get('content-length', 0))).decode('latin1')
        text = json.dumps({'method': line[0], 'path': path, 'headers': headers, 'body': body}).encode()
        self.wfile.write(('HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nSet-Cookie: a=1; Domain=localhost; Path=/\r\nSet-Cookie: hearth_preview=stolen\r\nAccess-Control-Allow-Origin: *\r\nX-Hop: 1\r\nConnection: close, X-Hop\r\nContent-Length: %d\r\n\r\n' % len(text)).encode() + text)
class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
Server(('127.0.0.1', 8080), Handler).serve_forever()
`

/** Reads to the end of each connection and then answers with as many bytes and three more. */
export const COUNTER = String.raw`
import socket
listener = socket.create_server(('127.0.0.1', 7000))
while True:
    connection, _ = listener.accept()
    count = 0
    try:
        while True:
            data = connection.recv(65536)
            if not data: break
            count += len(data)
        connection.sendall(b'x' * count + b'end')
    except OSError: pass
    connection.close()
`

/** Listens, and takes no connection beyond those that fill its queue. */
export const FULL = String.raw`
import socket, time
listener = socket.socket()
listener.bind(('127.0.0.1', 7001))
listener.listen(0)
waiting = []
for _ in range(4):
    waiting.append(socket.socket())
    waiting[-1].setblocking(False)
    waiting[-1].connect_ex(('127.0.0.1', 7001))
print('full', flush=True)
time.sleep(1000)
`
