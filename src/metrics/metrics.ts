import { watchActors } from './actor-metrics.ts'
import { watch } from '../http/metrics.ts'
import type { Composition } from '../server/compose.ts'
import type { NodeResources } from '../server/foundation.ts'

/** Figures of the parts that count for themselves, read when they are scraped. */
export function watchParts({ metrics, database }: NodeResources, { actors }: Composition): void {
  watch(metrics, 'crier_database_connections', 'Connections to PostgreSQL', () => database.poolStatus().total)
  watch(metrics, 'crier_database_connections_idle', 'Connections that nobody uses', () => database.poolStatus().idle)
  watch(metrics, 'crier_database_waiting', 'Requests that wait for a connection', () => database.poolStatus().waiting)
  watchActors(metrics, actors)
}
