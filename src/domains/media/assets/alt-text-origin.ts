import type { Provided } from '../../../core/provided.ts'
import { Id, named, Type, type Static } from '../../../core/schema.ts'
import type { Turn } from '../../../core/turn.ts'

export const AltTextOrigin = named(
  'AltTextOrigin',
  Type.Object(
    {
      aiJobIds: Type.Array(Id, { description: 'The AI jobs that wrote the text, at most 10' }),
      models: Type.Array(Type.String(), { description: 'The models that wrote it' }),
    },
    { description: 'The alt text is a text that a model wrote for the workspace, or contains a part of one' },
  ),
)
export type AltTextOriginData = Static<typeof AltTextOrigin>

/** Finds what models wrote. The domain of AI provides it, because the media library cannot import that domain. */
export interface AltTextModels {
  find(turn: Turn, texts: readonly string[]): Promise<AltTextOriginData | undefined>
}

/** The mark of an alt text. Null if no model wrote it. Undefined without a text to set. */
export async function originOf(
  models: Provided<AltTextModels>,
  turn: Turn,
  altText: string | undefined,
): Promise<AltTextOriginData | null | undefined> {
  if (altText === undefined) return undefined
  return altText === '' ? null : ((await models.get().find(turn, [altText])) ?? null)
}
