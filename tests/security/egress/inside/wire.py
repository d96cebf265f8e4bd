"""Bytes that no library would send: hellos of TLS, frames of HTTP/2 and questions of DNS, made by hand."""
import os, socket, ssl, struct, sys

# Long enough for an emulated machine; what is refused is refused at once.
TIMEOUT = 15


def connect(host, port):
    return socket.create_connection((host, port), TIMEOUT)


def heard(sock, limit=65536):
    """What the other side says until it ends or falls silent."""
    got = b''
    try:
        while len(got) < limit:
            part = sock.recv(65536)
            if not part: break
            got += part
            if b'\r\n\r\n' in got or b'REACHED' in got: break
    except TimeoutError:
        return got or b'silent'
    return got or b'closed'


def talk(host, port, data, limit=65536):
    with connect(host, port) as sock:
        sock.sendall(data)
        return heard(sock, limit).decode('latin1')


def open_tls(host, port, name=None, protocols=()):
    context = ssl.create_default_context(cafile=os.environ.get('SSL_CERT_FILE'))
    if protocols: context.set_alpn_protocols(list(protocols))
    return context.wrap_socket(connect(host, port), server_hostname=name or host)


def talk_tls(host, port, data):
    with open_tls(host, port) as sock:
        sock.sendall(data)
        return heard(sock).decode('latin1')


def vector(size, data):
    return len(data).to_bytes(size, 'big') + data


def extension(kind, data):
    return struct.pack('>H', kind) + vector(2, data)


def server_name(name):
    return extension(0, vector(2, b'\0' + vector(2, name)))


ENCRYPTED_HELLO = extension(0xfe0d, b'\0\0\1\0\1\0' + vector(2, b'k' * 32) + vector(2, b'x' * 64))


def client_hello(*extensions):
    body = b'\3\3' + os.urandom(32) + vector(1, b'') + vector(2, b'\x13\1\xc0\x2f') + vector(1, b'\0')
    body += vector(2, b''.join(extensions))
    return b'\x16\3\1' + vector(2, b'\1' + vector(3, body))


PREFACE = b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'
DATA, HEADERS, RESET, SETTINGS = 0, 1, 3, 4
END_STREAM, END_HEADERS = 1, 4


def frame(kind, flags, stream, data=b''):
    return vector(3, data)[:3] + bytes([kind, flags]) + struct.pack('>I', stream) + data


def literals(headers):
    """A block of headers without tables and without Huffman's code."""
    return b''.join(b'\0' + bytes([len(k)]) + k + bytes([len(v)]) + v for k, v in headers)


def request_headers(authority, path, method=b'GET', *more):
    return literals([(b':method', method), (b':scheme', b'https'), (b':authority', authority), (b':path', path), *more])


def talk_http2(host, port, *frames):
    """What is in DATA frames of the answer, and how the connection or the stream ended."""
    with open_tls(host, port, protocols=['h2']) as sock:
        sock.sendall(PREFACE + frame(SETTINGS, 0, 0) + b''.join(frames))
        sock.settimeout(TIMEOUT)
        buffer, said = b'', ''
        while True:
            try: part = sock.recv(65536)
            except (TimeoutError, OSError): return said + ' broken'
            if not part: return said + ' closed'
            buffer += part
            while len(buffer) >= 9 and len(buffer) >= 9 + int.from_bytes(buffer[:3], 'big'):
                length, kind, flags = int.from_bytes(buffer[:3], 'big'), buffer[3], buffer[4]
                data, buffer = buffer[9:9 + length], buffer[9 + length:]
                if kind == DATA: said += data.decode('latin1')
                if kind == 7: return said + f' goaway {int.from_bytes(data[4:8], "big")}'
                if kind == RESET: return said + f' reset {int.from_bytes(data, "big")}'
                if kind in (DATA, HEADERS) and flags & END_STREAM: return said + ' ended'


def ask_dns(*labels, server='127.0.0.53', over='udp', port=53):
    """The code of the answer and the addresses in it. Labels are bytes, whatever is in them."""
    question = b''.join(bytes([len(label)]) + label for label in labels) + b'\0\0\1\0\1'
    message = b'\x12\x34\1\0\0\1\0\0\0\0\0\0' + question
    if over == 'tcp':
        with connect(server, port) as sock:
            sock.sendall(vector(2, message))
            answer = sock.recv(4096)[2:]
    else:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.settimeout(TIMEOUT)
            sock.sendto(message, (server, port))
            answer = sock.recv(4096)
    count = int.from_bytes(answer[6:8], 'big')
    return f'code {answer[3] & 15}, {count} addresses'


class Attempts:
    """Makes attempts one after the other; each says how it ended on a line of its own."""

    def __init__(self):
        self.made = []

    def __call__(self, item):
        def add(attempt):
            self.made.append((item, attempt))
            return attempt
        return add

    def run(self):
        from concurrent.futures import ThreadPoolExecutor
        with ThreadPoolExecutor(6) as pool:
            for line in pool.map(self.one, self.made): print(line, flush=True)

    @staticmethod
    def one(entry):
        import json
        item, attempt = entry
        try: outcomes = attempt()
        except Exception as error: outcomes = name_of(error)
        if not isinstance(outcomes, list): outcomes = [outcomes]
        return json.dumps([item, attempt.__name__, [str(outcome)[:4000] for outcome in outcomes]])


def name_of(error):
    return f'{type(error).__name__}: {error}'


def each(function, values):
    """The outcome of each value, errors by their names."""
    outcomes = []
    for value in values:
        try: outcomes.append(function(*value) if isinstance(value, tuple) else function(value))
        except Exception as error: outcomes.append(name_of(error))
    return outcomes
