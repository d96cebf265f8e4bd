import { Stage } from '../store/testing/stage.fixture.ts'
import { describeVolumeStore } from './testing/describe-volume-store.fixture.ts'

const root = process.getuid?.() === 0

if (root) describeVolumeStore('btrfs', () => Stage.open({ btrfs: '512M' }))
describeVolumeStore(root ? 'a directory, as root' : 'a directory, as a user', () => Stage.open())
