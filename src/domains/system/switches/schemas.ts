import { Type } from '../../../core/schema.ts'

export const ServiceKey = Type.String({ pattern: '^[a-z][a-z-]{1,39}$', description: 'A name from GET /api/services' })
