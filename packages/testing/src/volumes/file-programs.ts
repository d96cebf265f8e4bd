/** What programs of any kind do with files. They end with a message where something is not as on a disk. */
export const COMMON_FILES = `
import os, stat, mmap
os.chdir(os.environ['PLACE'])
def text(path): return open(path).read()
f = os.open('orphan', os.O_RDWR | os.O_CREAT)
os.write(f, b'hello')
os.unlink('orphan')
os.write(f, b' world')
os.lseek(f, 0, 0)
assert os.read(f, 100) == b'hello world'
assert os.fstat(f).st_size == 11
os.ftruncate(f, 5)
assert os.fstat(f).st_size == 5
open('a', 'w').write('one')
open('b', 'w').write('two')
old = open('a', 'r+')
os.rename('b', 'a')
assert (old.read(), text('a')) == ('one', 'two')
old.write('!')
old.flush()
old.seek(0)
assert (old.read(), text('a')) == ('one!', 'two')
os.link('a', 'other')
assert os.stat('a').st_ino == os.stat('other').st_ino and os.stat('a').st_nlink == 2
open('other', 'a').write('!')
assert text('a') == 'two!'
os.unlink('a')
assert text('other') == 'two!' and os.stat('other').st_nlink == 1
os.symlink('nowhere', 'dangling')
assert os.readlink('dangling') == 'nowhere' and not os.path.exists('dangling')
os.symlink('/etc/passwd', 'outside')
assert 'root' in text('outside')
os.mkfifo('pipe')
assert stat.S_ISFIFO(os.stat('pipe').st_mode)
try: os.mknod('device', stat.S_IFCHR | 0o666, os.makedev(1, 3))
except OSError: pass
else: raise SystemExit('a device was made')
os.makedirs('d/e/f')
open('d/e/f/deep', 'w').write('deep')
inside = os.open('d/e/f', os.O_RDONLY)
os.rename('d/e', 'd/moved')
assert text('d/moved/f/deep') == 'deep' and os.listdir(inside) == ['deep']
os.rename('d', 'z')
assert os.listdir(inside) == ['deep']
try: os.rename('z', 'z/moved/in')
except OSError: pass
else: raise SystemExit('a directory lies in itself')
m = open('mapped', 'w+b')
m.truncate(8192)
memory = mmap.mmap(m.fileno(), 8192)
memory[4096:4099] = b'abc'
memory.flush()
assert open('mapped', 'rb').read()[4096:4099] == b'abc'
os.chmod('other', 0o4711)
assert os.stat('other').st_mode & 0o7777 == 0o4711
os.chown('other', 1234, 4321)
assert (os.stat('other').st_uid, os.stat('other').st_gid) == (1234, 4321)
os.utime('other', ns=(1_500_000_000_123_456_000, 1_600_000_000_123_456_000))
assert os.stat('other').st_mtime_ns == 1_600_000_000_123_456_000
os.mkdir('shared')
os.chown('shared', 0, 77)
os.chmod('shared', 0o2775)
open('shared/file', 'w').close()
assert os.stat('shared/file').st_gid == 77
long = 'x' * 255
open(long, 'w').close()
try: open(long + 'x', 'w')
except OSError: pass
else: raise SystemExit('a name is too long')
for i in range(300): open(f'many-{i}', 'w').write(str(i))
assert sorted(name for name in os.listdir('.') if name.startswith('many-')) == sorted(f'many-{i}' for i in range(300))
for i in range(0, 300, 2): os.unlink(f'many-{i}')
assert len([name for name in os.listdir('.') if name.startswith('many-')]) == 150
for end in (b'1', b'2'):
    appended = os.open('appended', os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(appended, end)
    os.fsync(appended)
assert text('appended') == '12'
try: os.open('appended', os.O_CREAT | os.O_EXCL)
except FileExistsError: pass
else: raise SystemExit('it was there')
open('appended', 'w').close()
assert os.stat('appended').st_size == 0
try: os.rmdir('z')
except OSError: pass
else: raise SystemExit('it was not empty')
print('good')
`

/** And what few of them do. */
export const RARE_FILES = `
import ctypes, os, socket
os.chdir(os.environ['PLACE'])
libc = ctypes.CDLL(None, use_errno=True)
orphan = os.open('orphan', os.O_RDWR | os.O_CREAT)
os.unlink('orphan')
assert os.fstat(orphan).st_nlink == 0
server, client = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
server.bind('socket')
server.listen()
client.connect('socket')
hole = open('hole', 'w+b')
hole.truncate(1 << 20)
hole.seek(1 << 19)
hole.write(b'data')
hole.flush()
os.fsync(hole.fileno())
assert os.stat('hole').st_blocks * 512 < 1 << 19
assert os.lseek(hole.fileno(), 0, os.SEEK_DATA) == 1 << 19
os.posix_fallocate(hole.fileno(), 0, 2 << 20)
assert os.stat('hole').st_size == 2 << 20
os.setxattr('hole', 'user.name', b'v' * 100)
assert os.getxattr('hole', 'user.name') == b'v' * 100 and os.listxattr('hole') == ['user.name']
os.removexattr('hole', 'user.name')
assert os.listxattr('hole') == []
for name in ('one', 'two'): open(name, 'w').write(name)
assert libc.renameat2(-100, b'one', -100, b'two', 2) == 0
assert (open('one').read(), open('two').read()) == ('two', 'one')
assert libc.renameat2(-100, b'one', -100, b'two', 1) == -1
os.chmod('one', 0o6777)
os.chown('one', 1000, 1000)
assert os.stat('one').st_mode & 0o7777 == 0o777
print('good')
`
