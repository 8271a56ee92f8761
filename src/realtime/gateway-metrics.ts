import { Counter, Gauge, type Registry } from 'prom-client'

export interface GatewayCounts {
  readonly events: Counter
  readonly cut: Counter<'reason'>
}

/** Registers the metrics of the gateway. @param connections includes unauthenticated ones */
export function measure(metrics: Registry, connections: () => number, users: () => number): GatewayCounts {
  void new Gauge({
    name: 'crier_sockets',
    help: 'Open connections of clients, including unauthenticated ones',
    registers: [metrics],
    collect() {
      this.set(connections())
    },
  })
  void new Gauge({
    name: 'crier_socket_users',
    help: 'Users with at least one socket',
    registers: [metrics],
    collect() {
      this.set(users())
    },
  })
  return {
    events: new Counter({ name: 'crier_socket_events_total', help: 'Events sent to a room', registers: [metrics] }),
    cut: new Counter({
      name: 'crier_sockets_cut_total',
      help: 'Sockets that the server closed, by reason',
      labelNames: ['reason'],
      registers: [metrics],
    }),
  }
}
