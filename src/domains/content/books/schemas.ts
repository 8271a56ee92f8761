import { numberedPageFields } from '../../../core/page-of-all.ts'
import {
  Id,
  Input,
  InstantInput,
  named,
  Nullable,
  ResourceBase,
  States,
  Text,
  Timestamp,
  Type,
  type Static,
} from '../../../core/schema.ts'

/** Largest content of a book, in bytes. */
export const MAX_BOOK_BYTES = 5_000_000

const shown = {
  title: Type.String(),
  author: Type.String(),
  language: Type.String({ description: 'BCP 47, such as `en`' }),
  description: Type.String(),
  coverUrl: Nullable(Type.String()),
  size: Type.Integer({ description: 'Bytes of the JSON' }),
  sha256: Type.String({ description: 'Of the JSON, hexadecimal' }),
}

export const BookView = named(
  'Book',
  Type.Object({
    ...ResourceBase,
    ...shown,
    publishedAt: Timestamp,
    dataUrl: Type.String({ description: 'Address of the JSON' }),
  }),
)

export const BookListQuery = Input(numberedPageFields)
export const BookPath = Input({ id: Id })

export const BookEntry = named(
  'BookEntry',
  Type.Object({
    ...ResourceBase,
    ...shown,
    publishedAt: Nullable(Timestamp),
    status: States('BookEntryStatus', 'Whether readers see a book', {
      draft: 'It has no time of publication. Nobody but administrators sees it',
      scheduled: 'It becomes public at `publishedAt`',
      published: 'Everyone sees it',
    }),
    version: Type.Integer(),
  }),
)

const fields = {
  author: Text(0, 200),
  language: Text(2, 35, {
    pattern: '^[A-Za-z]{2,3}(?:-[A-Za-z0-9]{1,8})*$',
    description: 'A language tag (BCP 47) such as `en`',
  }),
  description: Text(0, 5_000),
  coverUrl: Nullable(Text(1, 2_000, { pattern: '^https?://[^\\s"<>]+$', description: 'An http or https URL' })),
  publishedAt: Nullable(InstantInput),
}
const Data = Type.Union(
  [Type.Record(Type.String(), Type.Unknown()), Type.Array(Type.Unknown(), { maxItems: 100_000 })],
  {
    description: `The content: any JSON object or array, at most ${MAX_BOOK_BYTES} bytes`,
    'x-verbatim': true,
  },
)

export const NewBook = Input({
  title: Text(1, 300),
  data: Data,
  author: Type.Optional(fields.author),
  language: Type.Optional(fields.language),
  description: Type.Optional(fields.description),
  coverUrl: Type.Optional(fields.coverUrl),
  publishedAt: Type.Optional(fields.publishedAt),
})

export const BookChanges = Type.Partial(NewBook, { additionalProperties: false, minProperties: 1 })

export type BookData = Static<typeof BookView>
export type BookEntryData = Static<typeof BookEntry>
export type NewBookData = Static<typeof NewBook>
export type BookChangesData = Static<typeof BookChanges>
export type BookListQueryData = Static<typeof BookListQuery>
