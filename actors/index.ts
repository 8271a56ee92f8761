export { LocalActors, type ActorLimits, type LocalActorsOptions } from './local-actors.ts'
export { BatchError, FencedError, RefusedError } from './types.ts'
export type { ActorHost, Actors, ActorStats, Command, Outcome } from './types.ts'
