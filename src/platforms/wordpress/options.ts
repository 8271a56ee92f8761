import { Type } from 'typebox'

/** What a post can set at WordPress (developer.wordpress.org/rest-api/reference/posts, 2026-11). */
export const options = Type.Object({
  status: Type.Optional(
    Type.Enum(['publish', 'draft', 'pending', 'private'], {
      description: '`publish` if absent. `draft` and `pending` only store the post at the site.',
    }),
  ),
  categories: Type.Optional(
    Type.Array(Type.String({ pattern: '^[1-9][0-9]{0,15}$' }), {
      maxItems: 50,
      description: 'Ids of categories, as the places of the account list them. The default of the site if absent.',
    }),
  ),
  excerpt: Type.Optional(Type.String({ maxLength: 5_000, description: 'The summary that lists and feeds show.' })),
  slug: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 80,
      description:
        'The words of the address. Those of the title if absent. Crier adds eight characters by which it finds the post again.',
    }),
  ),
  format: Type.Optional(
    Type.Enum(['standard', 'aside', 'audio', 'chat', 'gallery', 'image', 'link', 'quote', 'status', 'video'], {
      description: 'The format, for themes that have formats.',
    }),
  ),
  featured_image: Type.Optional(
    Type.Enum(['first', 'only', 'none'], {
      description:
        'Whether the first image is the featured image. `first` if absent. With `only` it is not shown in the text as well.',
    }),
  ),
  sticky: Type.Optional(Type.Boolean({ description: 'Keeps the post at the top of the front page.' })),
  comment_status: Type.Optional(
    Type.Enum(['open', 'closed'], { description: 'Whether readers can comment. The default of the site if absent.' }),
  ),
  ping_status: Type.Optional(Type.Enum(['open', 'closed'], { description: 'Whether other sites can ping the post.' })),
})
