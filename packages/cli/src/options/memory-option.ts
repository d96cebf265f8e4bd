import { Option } from 'commander'

/** Whether running processes are captured. */
export function memoryOption(): Option {
  const description = 'running processes too, or it fails; by default where the rung can'
  return new Option('--memory <mode>', description).choices(['auto', 'required', 'none'])
}
