import { Input, named, Timestamp, Type, type Static } from '../../../core/schema.ts'

export const PreviewToken = named(
  'PreviewToken',
  Type.Object({
    token: Type.String({
      description: 'A secret: whoever has it can watch this one stream, until it expires or stops',
    }),
    expiresAt: Timestamp,
    pageUrl: Type.String({ description: 'A page of this server that plays the stream' }),
    whepUrl: Type.String({ description: 'Where a browser watches by WHEP, with `token` as bearer token' }),
  }),
)
export type PreviewTokenData = Static<typeof PreviewToken>

export const PreviewQuery = Input({
  token: Type.Optional(
    Type.String({ maxLength: 500, description: 'A preview token, in place of a credential in a header' }),
  ),
})
