import { ServiceDisabled } from './errors.ts'
import type { Switches } from './ports.ts'
import { named, Nullable, States, Timestamp, Type, type Static } from './schema.ts'

/** Services that cannot be switched off, because switching one on again needs them. */
export const ALWAYS_ON: ReadonlySet<string> = new Set(['auth', 'services', 'health'])

/** Seconds that a client should wait before it tries a service again. */
const RETRY_AFTER = 30

export const ServiceStatus = named(
  'ServiceStatus',
  Type.Object({
    key: Type.String({ description: 'Name of the service. It is the first part of the paths of its operations' }),
    enabled: Type.Boolean(),
    status: States('ServiceState', 'Whether a service can be used', {
      operational: 'Available',
      disabled: 'Switched off by an administrator. Its operations return 503, and its jobs wait',
    }),
    updatedAt: Nullable(Timestamp),
  }),
)
export type ServiceStatus = Static<typeof ServiceStatus>

/** The switches, for parts of a node that act when one changes. */
export interface WatchedSwitches extends Switches {
  /** The services that are switched off. */
  off(): ServiceStatus[]
  /** Adds a listener that is called on every node, at most a second after a service was switched on or off. */
  onChange(listener: (changed: ServiceStatus) => void): () => void
}

/**
 * Refuses the use of a service that an administrator has switched off.
 * @throws AppError service_disabled
 */
export function requireOn(switches: Switches, service: string): void {
  if (ALWAYS_ON.has(service) || switches.isOn(service)) return
  throw ServiceDisabled({
    message: `An administrator has switched off the service ${service}. Try again when GET /api/services/${service}/status shows it as operational.`,
    retryAfter: RETRY_AFTER,
  })
}
