export { systemClock } from './clock.ts'
export { ClusterActors } from './cluster-actors.ts'
export type { ClusterActorsOptions } from './cluster-options.ts'
export type { HistogramData } from './histogram.ts'
export type { ActorLimits } from './limits.ts'
export type { LinkLimits } from './links/settings.ts'
export { certificateFiles, type LinkTls } from './links/certificates.ts'
export { tcpTransport, type TcpTransportOptions } from './links/tcp.ts'
export { LocalActors, type LocalActorsOptions } from './local-actors.ts'
export { jsonCodec, type Codec, type LeaseStore, type NodeEntry } from './ports.ts'
export { RedisLeaseStore, type RedisLeaseStoreOptions } from './redis-lease-store.ts'
export { BatchError, FencedError, RefusedError, UnknownOutcomeError } from './types.ts'
export type {
  ActorHost,
  Actors,
  ActorStats,
  ClusterStats,
  Command,
  LinkStats,
  NodeOwnership,
  Outcome,
  OwnedActor,
  RefusalReason,
} from './types.ts'
