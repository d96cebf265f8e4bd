import { Option } from 'commander'

/** Whether running processes are captured. */
export function memoryOption(): Option {
  const description = 'running processes too: auto (where the rung can), required (or it fails), none (files alone)'
  return new Option('--memory <mode>', description).choices(['auto', 'required', 'none'])
}
