import { Input, named, Timestamp, Type, type Static } from '../../../core/schema.ts'

export const PreviewToken = named(
  'PreviewToken',
  Type.Object({
    token: Type.String({
      description: 'A secret. Anyone who has it can watch this stream until it expires or the stream stops',
    }),
    expiresAt: Timestamp,
    pageUrl: Type.String({ description: 'A page of this server that plays the stream' }),
    whepUrl: Type.String({ description: 'The URL to play with WHEP, with `token` as bearer token' }),
  }),
)
export type PreviewTokenData = Static<typeof PreviewToken>

export const PreviewQuery = Input({
  token: Type.Optional(
    Type.String({ maxLength: 500, description: 'A preview token, instead of a credential in a header' }),
  ),
})
