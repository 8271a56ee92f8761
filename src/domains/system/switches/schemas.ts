import { Type, named, Nullable, States, Timestamp } from '../../../core/schema.ts'

export const ServiceStatus = named(
  'ServiceStatus',
  Type.Object({
    key: Type.String({ description: 'Name of the service. It is the first part of the paths of its operations' }),
    enabled: Type.Boolean(),
    status: States('ServiceState', 'Whether a service can be used', {
      operational: 'Available',
      disabled: 'Switched off by an administrator. Its operations return 503',
    }),
    updatedAt: Nullable(Timestamp),
  }),
)

export const ServiceKey = Type.String({ pattern: '^[a-z][a-z-]{1,39}$', description: 'A name from GET /api/services' })
