import { Id, Input, named, Nullable, Text, Timestamp, Type, type Static } from '../../../../core/schema.ts'

const Model = Text(1, 100)
const baseUrl = Type.String({
  format: 'uri',
  pattern: '^https?://[^@?#]+$',
  maxLength: 1_000,
  description: 'Address of an OpenAI-compatible API, such as `https://api.example.com/v1`',
})
const models = Type.Array(Model, {
  minItems: 1,
  maxItems: 50,
  uniqueItems: true,
  description: 'The models that the AI settings can choose. The first one is the default',
})

export const AiProviderPath = Input({ workspaceId: Id })

export const NewAiProvider = Input({
  baseUrl,
  key: Type.Optional(
    Nullable(
      Type.String({
        pattern: '^[\\x21-\\x7e]+$',
        minLength: 1,
        maxLength: 1_000,
        description:
          'The API key. If absent, the stored key is kept; it is required when `baseUrl` changes. Null removes it',
      }),
    ),
  ),
  models,
  transcriptionModel: Type.Optional(Nullable(Model)),
})
export type NewAiProviderData = Static<typeof NewAiProvider>

export const WorkspaceAiProvider = named(
  'WorkspaceAiProvider',
  Type.Object(
    {
      createdAt: Timestamp,
      updatedAt: Timestamp,
      workspaceId: Id,
      baseUrl,
      hasKey: Type.Boolean({ description: 'Whether a key is stored. No reply contains it' }),
      models,
      transcriptionModel: Nullable(
        Type.String({
          description: 'The model that recognizes speech. Null for the model of the server, if it has one',
        }),
      ),
    },
    { description: 'The provider of AI models that a workspace uses instead of the provider of the server' },
  ),
)
export type WorkspaceAiProviderData = Static<typeof WorkspaceAiProvider>

const Count = Type.Integer({ minimum: 0 })

export const AiSpending = named(
  'AiSpending',
  Type.Object(
    {
      workspaceId: Id,
      creditLimit: Nullable({
        ...Count,
        description: 'Credits that the workspace can use from `periodStart` to `periodEnd`, by its AI settings',
      }),
      creditsUsed: { ...Count, description: 'Credits that jobs requested in the period have used' },
      creditsReserved: { ...Count, description: 'Credits that are reserved for jobs that have not ended' },
      creditsAvailable: Nullable({ ...Count, description: 'What is left of `creditLimit`. Null without a limit' }),
      periodStart: Timestamp,
      periodEnd: Timestamp,
    },
    { description: 'The AI credits of its owner that a workspace uses in a month' },
  ),
)
export type AiSpendingData = Static<typeof AiSpending>
