import { Baseline } from './0001-baseline.ts'
import { StreamsById } from './0070-streams-by-id.ts'
import { AssetsCascade } from './0071-assets-cascade.ts'

/** Migrations in order. A released migration never changes; later migrations change what it created. */
export const migrations = [
  { name: '0001-baseline', class: Baseline },
  { name: '0070-streams-by-id', class: StreamsById },
  { name: '0071-assets-cascade', class: AssetsCascade },
]
