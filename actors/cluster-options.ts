import type { ActorLimits } from './limits.ts'
import type { LinkLimits } from './links/settings.ts'
import type { Codec, LeaseStore, RandomSource, RuntimeClock, Transport } from './ports.ts'
import type { ActorHost } from './types.ts'

/** What the driver for several nodes is handed. */
export interface ClusterActorsOptions {
  readonly host: ActorHost
  readonly codec: Codec
  readonly store: LeaseStore
  readonly transport: Transport
  /** Shared by all nodes; at least 32 characters. */
  readonly secret: string
  readonly clock?: RuntimeClock
  readonly random?: RandomSource
  readonly limits?: Partial<ActorLimits>
  readonly linkLimits?: Partial<LinkLimits>
  /** A session ends this long after its last beat; 5,000 by default. */
  readonly ttlMs?: number
  /** 1,000 by default. */
  readonly beatMs?: number
  /** See LeaseOptions. */
  readonly selfFence?: boolean
  readonly handOverPerBeat?: number
  readonly onError?: (error: unknown, actor?: string) => void
  /** Another node is gone that had not said that it leaves: nobody knows what it has left undone. */
  readonly onNodeLost?: () => void
}
