import { publicText } from '../tools/clean-text.ts'

/** A media file of a post, with the facts that the rules and the uploads need. */
export interface PostMedia {
  /** The id of the asset. */
  readonly id: string
  /** `gif` is an animated image. */
  readonly kind: 'image' | 'gif' | 'video' | 'document'
  /** The media type, such as `image/jpeg`. */
  readonly type: string
  readonly bytes: number
  /** The name of the file, for platforms that show it. */
  readonly name: string
  readonly width?: number
  readonly height?: number
  readonly seconds?: number
  readonly fps?: number
  readonly videoCodec?: string
  readonly audioCodec?: string
  readonly pages?: number
  readonly altText?: string
}

/** Text and media of one part of a post. */
export interface PartContent {
  readonly text: string
  readonly media: readonly PostMedia[]
}

/** What one account publishes. */
export interface PostContent extends PartContent {
  readonly title?: string
  readonly link?: string
  readonly tags?: readonly string[]
  /** The parts that follow the first one, each a reply to the part before it. */
  readonly thread?: readonly PartContent[]
  readonly firstComment?: string
  /** Options that only this platform has, as `Platform.options` describes them. */
  readonly options: Readonly<Record<string, unknown>>
}

/** A content with all its texts as platforms may get them (`publicText`), those in its options too. */
export function publicContent(content: PostContent): PostContent {
  return cleaned(content) as PostContent
}

function cleaned(value: unknown): unknown {
  if (typeof value === 'string') return publicText(value)
  if (Array.isArray(value)) return value.map(cleaned)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, cleaned(inner)]))
}

/** The text of a post with its link at the end, for platforms that have no field for a link. */
export function textWithLink({ link = '', text }: Pick<PostContent, 'link' | 'text'>): string {
  if (link === '' || text.includes(link)) return text
  return text === '' ? link : `${text}\n${link}`
}
