import { Counter, type Registry } from 'prom-client'
import type { Actors, ActorStats } from '../actors/index.ts'
import { watch } from './http/metrics.ts'
import type { Composition, Foundation } from './services.ts'

/** Figures of the parts that count for themselves, read when they are scraped. */
export function watchParts({ metrics, database }: Foundation, { actors }: Composition): void {
  watch(metrics, 'crier_database_connections', 'Connections to PostgreSQL', () => database.poolStatus().total)
  watch(metrics, 'crier_database_connections_idle', 'Connections that nobody uses', () => database.poolStatus().idle)
  watch(metrics, 'crier_database_waiting', 'Requests that wait for a connection', () => database.poolStatus().waiting)
  watch(metrics, 'crier_actors_active', 'Actors in memory', () => actors.stats().active)
  watch(metrics, 'crier_actors_waiting', 'Turns that wait in mailboxes', () => actors.stats().waiting)
  watch(
    metrics,
    'crier_actors_quarantined',
    'Actors whose activation keeps failing',
    () => actors.stats().quarantined.length,
  )
  if (actors.stats().cluster !== undefined) watchCluster(metrics, actors)
  for (const [field, help] of Object.entries(COUNTED)) {
    const read = () => actors.stats()[field as keyof typeof COUNTED]
    let told = 0
    const counter = new Counter({
      name: `crier_actors_${field}_total`,
      help,
      registers: [],
      collect() {
        const now = read()
        this.inc(now - told)
        told = now
      },
    })
    metrics.registerMetric(counter)
  }
}

/** Of the driver for several nodes. */
function watchCluster(metrics: Registry, actors: Actors): void {
  const cluster = () => actors.stats().cluster
  watch(metrics, 'crier_actors_owned', 'Actors that this node owns', () => cluster()?.owned ?? 0)
  watch(metrics, 'crier_nodes', 'Nodes that live', () => cluster()?.nodes ?? 0)
  watch(metrics, 'crier_lease_left_ms', 'Time until the node fences itself', () => cluster()?.leaseLeftMs ?? 0)
  watch(metrics, 'crier_links_open', 'Links to other nodes', () => openLinks(cluster()).length)
  watch(metrics, 'crier_links_in_flight', 'Turns that other nodes have been asked for', () =>
    openLinks(cluster()).reduce((sum, link) => sum + link.inFlight, 0),
  )
}

function openLinks(cluster: ActorStats['cluster']) {
  return cluster?.links.filter((link) => link.state === 'open') ?? []
}

const COUNTED = {
  activations: 'Times an actor was claimed',
  turns: 'Turns that were run',
  batches: 'Transactions in which they ran',
  fenced: 'Times another owner had an actor in between',
  overloaded: 'Turns refused because too many waited',
  expired: 'Turns dropped because they waited too long',
  unknown: 'Turns of which nobody could say in time whether they had taken effect',
} as const satisfies Partial<Record<keyof ActorStats, string>>
