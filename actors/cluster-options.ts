import type { ActorLimits } from './limits.ts'
import type { LinkLimits } from './links/settings.ts'
import type { Codec, LeaseStore, RandomSource, RuntimeClock, Transport } from './ports.ts'
import type { ActorHost } from './types.ts'

/** Options of the driver for several nodes. */
export interface ClusterActorsOptions {
  readonly host: ActorHost
  readonly codec: Codec
  readonly store: LeaseStore
  readonly transport: Transport
  /** The same on all nodes, at least 32 characters. */
  readonly secret: string
  readonly clock?: RuntimeClock
  readonly random?: RandomSource
  readonly limits?: Partial<ActorLimits>
  readonly linkLimits?: Partial<LinkLimits>
  /** Milliseconds after the last heartbeat until a session ends; 5,000 by default. */
  readonly ttlMs?: number
  /** Milliseconds between heartbeats; 1,000 by default. */
  readonly beatMs?: number
  /** See LeaseOptions. */
  readonly selfFence?: boolean
  readonly handOverPerBeat?: number
  readonly onError?: (error: unknown, actor?: string) => void
  /** Called when another node has disappeared without leaving properly. It may not have announced its last commits. */
  readonly onNodeLost?: () => void
}
