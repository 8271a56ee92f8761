import { watchActors } from './actor-metrics.ts'
import { watch } from '../http/metrics.ts'
import type { Composition } from '../server/compose.ts'
import type { NodeResources } from '../server/foundation.ts'

/** Metrics of components that keep their own counts, read on each scrape. */
export function watchParts({ metrics, database }: NodeResources, { actors, services }: Composition): void {
  watch(metrics, 'crier_database_connections', 'Connections to PostgreSQL', () => database.poolStatus().total)
  watch(metrics, 'crier_database_connections_idle', 'Idle connections to PostgreSQL', () => database.poolStatus().idle)
  watch(metrics, 'crier_database_waiting', 'Requests waiting for a connection', () => database.poolStatus().waiting)
  watch(metrics, 'crier_publication_heartbeat_age_seconds', 'Time since the scheduler of posts last ran', () => {
    return services.publication.heartbeat.ageMs() / 1_000
  })
  watch(metrics, 'crier_ledger_faults', 'Faults that the last check of the ledger found', () =>
    services.ledger.inspector.faultsCount(),
  )
  watch(metrics, 'crier_ledger_check_age_seconds', 'Time since the last check of the ledger', () =>
    services.ledger.inspector.ageSeconds(),
  )
  watchActors(metrics, actors)
}
