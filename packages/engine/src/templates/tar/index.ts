/** Reading and writing archives, without the rest of the engine: `@hearth/engine/tar`. */
export { makeTar, type TarInput } from './make-tar.ts'
export { TarError, type TarHeader } from './tar-header.ts'
export { readTar, type TarEntry, type TarLimits } from './tar-reader.ts'
export { TAR_END, tarHeader, tarPadding } from './tar-writer.ts'
