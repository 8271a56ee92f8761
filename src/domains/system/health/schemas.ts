import { Type, named } from '../../../core/schema.ts'

export const Liveness = named(
  'Liveness',
  Type.Object({ version: Type.String(), uptimeSeconds: Type.Integer({ minimum: 0 }) }),
)

const Check = Type.Object({
  ok: Type.Boolean(),
  latencyMs: Type.Optional(Type.Number({ description: 'Only for administrators' })),
  error: Type.Optional(Type.String({ description: 'Only for administrators' })),
  details: Type.Optional(
    Type.Record(Type.String(), Type.Union([Type.String(), Type.Number(), Type.Boolean()]), {
      description: 'Only for administrators',
    }),
  ),
})

export const ReadinessReport = named(
  'Readiness',
  Type.Object({
    ready: Type.Boolean(),
    draining: Type.Boolean({ description: 'The server is shutting down' }),
    version: Type.String(),
    checks: Type.Record(Type.String(), Check),
    warnings: Type.Optional(
      Type.Array(Type.String(), { description: 'What an operator should change. Only for administrators' }),
    ),
  }),
)
