export { LocalActors, type LocalActorsOptions } from './local-actors.ts'
export type { ActorLimits } from './limits.ts'
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
