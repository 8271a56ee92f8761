import type { PostContent } from '../content.ts'
import type { ContentRefusal } from '../platform.ts'

interface Embed {
  readonly title?: string
  readonly description?: string
  readonly author?: { readonly name: string }
  readonly footer?: { readonly text: string }
  readonly fields?: readonly { readonly name: string; readonly value: string }[]
}

/** The limit of all embeds of a message (docs.discord.com/developers/resources/message#embed-object, 2026-11). */
const MAX_CHARACTERS = 6_000

/** The embeds that the options name. */
export function embedsOf(options: PostContent['options']): readonly Embed[] {
  return (options['embeds'] as readonly Embed[] | undefined) ?? []
}

/** The characters that count for the limit of all embeds. */
function lengthOf({ author, description = '', fields = [], footer, title = '' }: Embed): number {
  const texts = [
    title,
    description,
    author?.name ?? '',
    footer?.text ?? '',
    ...fields.flatMap(({ name, value }) => [name, value]),
  ]
  return texts.reduce((sum, text) => sum + Array.from(text).length, 0)
}

/** Embeds have a limit together, beside those of their fields. */
export function embedRefusals({ options }: Pick<PostContent, 'options'>): readonly ContentRefusal[] {
  const embeds = options['embeds']
  // What is no list of embeds is refused by the schema of the options.
  if (!Array.isArray(embeds) || embeds.some((embed) => !isEmbed(embed))) return []
  const length = embedsOf(options).reduce((sum, embed) => sum + lengthOf(embed), 0)
  if (length <= MAX_CHARACTERS) return []
  const message = `The embeds have ${length} characters together; Discord allows ${MAX_CHARACTERS}.`
  return [{ pointer: '/options/embeds', message, fix: 'Shorten the embeds.' }]
}

function isEmbed(value: unknown): boolean {
  if (value === null || typeof value !== 'object') return false
  const { fields = [] } = value as Embed
  return Array.isArray(fields) && fields.every((field) => field !== null && typeof field === 'object')
}
