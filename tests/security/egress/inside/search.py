"""Looks for everything that has the shape of a secret: in environments, memory and files, as root."""
import json, os, re

SHAPE = re.compile(rb'(?:ghp_|dep_|qry_|fld_|bas_|oth_)[A-Za-z0-9]{32}')
SKIPPED = ('/proc', '/sys', '/dev', '/usr', '/lib', '/tmp/egress')
found = {}


def look(where, data):
    for match in SHAPE.findall(data): found.setdefault(match.decode(), where)


def read(path):
    try:
        with open(path, 'rb') as file: return file.read()
    except OSError: return b''


def memory(process):
    try:
        with open(f'/proc/{process}/maps') as maps, open(f'/proc/{process}/mem', 'rb', 0) as mem:
            for line in maps:
                span, mode, *_ = line.split()
                if 'r' not in mode or 'w' not in mode: continue
                start, end = (int(part, 16) for part in span.split('-'))
                if end - start > 1 << 28: continue
                mem.seek(start)
                look(f'memory of {process}', mem.read(end - start))
    except (OSError, ValueError, OverflowError): pass


for process in filter(str.isdigit, os.listdir('/proc')):
    for name in ('environ', 'cmdline'): look(f'{name} of {process}', read(f'/proc/{process}/{name}'))
    memory(process)
for folder, folders, files in os.walk('/'):
    folders[:] = [name for name in folders if not os.path.join(folder, name).startswith(SKIPPED)]
    for name in files:
        path = os.path.join(folder, name)
        if os.path.isfile(path) and not os.path.islink(path): look(path, read(path))
print(json.dumps(found))
