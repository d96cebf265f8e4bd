// Stands for QEMU: what it is given goes to the server of the volumes, and what that says comes back.
import { Socket } from 'node:net'

const server = new Socket({ fd: Number(process.argv[2]) })
process.stdin.on('data', (bytes) => server.write(bytes))
server.on('data', (bytes) => process.stdout.write(bytes))
server.on('close', () => process.exit(0))
