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
import { Several } from '../../../core/several.ts'

const SLUG = '^[a-z0-9]+(?:-[a-z0-9]+)*$'
export const Slug = Text(1, 100, { pattern: SLUG, description: 'Lowercase letters, digits and single hyphens' })
const WebUrl = Text(1, 2_000, { pattern: '^https?://[^\\s"<>]+$', description: 'An http or https URL' })

export const BlogCategory = named(
  'BlogCategory',
  Type.Object({
    slug: Type.String({ description: 'For the filter `category`' }),
    name: Type.String(),
    postsCount: Type.Integer({ description: 'Published posts in the category' }),
  }),
)

const shown = {
  _id: Id,
  slug: Type.String(),
  title: Type.String(),
  summary: Type.String({ description: 'Plain text' }),
  author: Type.String({ description: 'Name of the author; empty if none is named' }),
  categories: Type.Array(Type.Object({ slug: Type.String(), name: Type.String() })),
  imageUrl: Nullable(Type.String()),
  imageAlt: Type.String({ description: 'Description of the picture for people who cannot see it' }),
  url: Type.String({ description: 'Address of the post for people' }),
  readingMinutes: Type.Integer({ description: 'Time to read it, at 220 words per minute' }),
  publishedAt: Timestamp,
  createdAt: Timestamp,
  updatedAt: Timestamp,
}

export const BlogPostView = named('BlogPost', Type.Object(shown))

const OpenGraph = named(
  'OpenGraph',
  Type.Record(Type.String(), Type.Union([Type.String(), Type.Array(Type.String())]), {
    description: 'Values of `<meta property="…">` by name, such as `og:title` (ogp.me)',
  }),
)

export const BlogArticle = named(
  'BlogArticle',
  Type.Object({
    ...shown,
    html: Type.String({ description: 'The text as HTML without scripts, styles, forms and frames' }),
    openGraph: OpenGraph,
  }),
)

export const BlogListQuery = Input({
  ...numberedPageFields,
  category: Several(Text(1, 100), { description: 'Slug of a category' }),
})

export const BlogEntry = named(
  'BlogEntry',
  Type.Object({
    ...ResourceBase,
    slug: Type.String(),
    title: Type.String(),
    summary: Type.String({ description: 'Plain text. If it is empty, readers see the beginning of the text' }),
    body: Type.String({ description: 'Markdown (GFM)' }),
    author: Type.String(),
    categoryNames: Type.Array(Type.String()),
    imageUrl: Nullable(Type.String()),
    imageAlt: Type.String(),
    publishedAt: Nullable(Timestamp),
    status: States('BlogEntryStatus', 'Whether readers see a post', {
      draft: 'It has no time of publication. Nobody but administrators sees it',
      scheduled: 'It becomes public at `publishedAt`',
      published: 'Everyone sees it',
    }),
    version: Type.Integer(),
  }),
)

const fields = {
  summary: Text(0, 500, { description: 'Plain text' }),
  author: Text(0, 100),
  categoryNames: Type.Array(Text(1, 60), { maxItems: 5, uniqueItems: true }),
  imageUrl: Nullable(WebUrl),
  imageAlt: Text(0, 300),
  publishedAt: Nullable(InstantInput),
}
const Title = Text(1, 200)
const Body = Text(1, 200_000, { description: 'Markdown (GFM). HTML in it is sanitized' })

export const NewBlogEntry = Input({
  title: Title,
  body: Body,
  slug: Type.Optional(Slug),
  summary: Type.Optional(fields.summary),
  author: Type.Optional(fields.author),
  categoryNames: Type.Optional(fields.categoryNames),
  imageUrl: Type.Optional(fields.imageUrl),
  imageAlt: Type.Optional(fields.imageAlt),
  publishedAt: Type.Optional(fields.publishedAt),
})

export const BlogEntryChanges = Type.Partial(NewBlogEntry, { additionalProperties: false, minProperties: 1 })

export type BlogCategoryData = Static<typeof BlogCategory>
export type BlogPostData = Static<typeof BlogPostView>
export type BlogArticleData = Static<typeof BlogArticle>
export type BlogEntryData = Static<typeof BlogEntry>
export type NewBlogEntryData = Static<typeof NewBlogEntry>
export type BlogEntryChangesData = Static<typeof BlogEntryChanges>
export type BlogListQueryData = Static<typeof BlogListQuery>
