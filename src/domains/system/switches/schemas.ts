import { Type, named, Nullable, States, Timestamp } from '../../../core/schema.ts'

export const ServiceStatus = named(
  'ServiceStatus',
  Type.Object({
    key: Type.String({ description: 'Name of the service: the first part of its operations’ paths' }),
    enabled: Type.Boolean(),
    status: States('ServiceState', 'Whether a service can be used', {
      operational: 'Works',
      disabled: 'Switched off by an administrator: its operations answer 503',
    }),
    updatedAt: Nullable(Timestamp),
  }),
)

export const ServiceKey = Type.String({ pattern: '^[a-z][a-z-]{1,39}$', description: 'A name from GET /api/services' })
