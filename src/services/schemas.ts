import { Type, named, Nullable, Timestamp } from '../core/schema.ts'

export const ServiceStatus = named(
  'ServiceStatus',
  Type.Object({
    key: Type.String({ description: 'Name of the service: the first part of its operations’ paths' }),
    enabled: Type.Boolean(),
    status: Type.Enum(['operational', 'disabled']),
    updatedAt: Nullable(Timestamp),
  }),
)

export const ServiceKey = Type.String({ pattern: '^[a-z][a-z-]{1,39}$', description: 'A name from GET /api/services' })
