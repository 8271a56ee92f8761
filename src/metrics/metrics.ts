import { watchActors } from './actor-metrics.ts'
import { watch } from '../http/metrics.ts'
import type { Composition } from '../server/compose.ts'
import type { NodeResources } from '../server/foundation.ts'

/** Metrics of components that keep their own counts, read on each scrape. */
export function watchParts({ metrics, database }: NodeResources, { actors }: Composition): void {
  watch(metrics, 'crier_database_connections', 'Connections to PostgreSQL', () => database.poolStatus().total)
  watch(metrics, 'crier_database_connections_idle', 'Idle connections to PostgreSQL', () => database.poolStatus().idle)
  watch(metrics, 'crier_database_waiting', 'Requests waiting for a connection', () => database.poolStatus().waiting)
  watchActors(metrics, actors)
}
