import tlds from 'tlds' with { type: 'json' }
import { withoutPunctuation } from '../link-card.ts'

/** A part of the text that is a link, a mention or a tag. The offsets count bytes of UTF-8. */
export interface Facet {
  readonly index: { readonly byteStart: number; readonly byteEnd: number }
  readonly features: readonly Feature[]
}

type Feature =
  | { readonly $type: 'app.bsky.richtext.facet#link'; readonly uri: string }
  | { readonly $type: 'app.bsky.richtext.facet#mention'; readonly did: string }
  | { readonly $type: 'app.bsky.richtext.facet#tag'; readonly tag: string }

/** A URL, or a domain as the official client finds it: without hyphens, and under a known top-level domain. */
const LINK = /(?<=^|\s|\()(?:https?:\/\/\S+|(?<domain>[a-z][a-z\d]*(?:\.[a-z\d]+)+)\S*)/gi
const TOP_LEVEL: ReadonlySet<string> = new Set(tlds)
const MENTION = /(?<=^|\s|\()@((?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z](?:[a-z0-9-]*[a-z0-9])?)\b/gi
/** Characters that are not visible and end a tag. */
const HIDDEN = String.raw`\u00AD|\u2060|\u200A|\u200B|\u200C|\u200D|\u20E2`
const TAG = new RegExp(
  String.raw`(?<=^|\s)[#＃]((?!\uFE0F)(?:(?!${HIDDEN})\S)*(?:(?!${HIDDEN})[^\d\s\p{P}])+(?:(?!${HIDDEN})\S)*)`,
  'gu',
)
const MAX_TAG_CHARACTERS = 64

/** The handles that a text mentions. */
export function mentionsOf(text: string): readonly string[] {
  return [...new Set([...text.matchAll(MENTION)].map((match) => (match[1] ?? '').toLowerCase()))]
}

/**
 * The links, mentions and tags of a text (docs.bsky.app, Links, mentions, and rich text, 2026-11).
 * @param dids the DIDs of the mentioned handles; others stay plain text
 */
export function facetsOf(text: string, dids: Readonly<Record<string, string>>): readonly Facet[] {
  const links = linksOf(text).map(({ part, start, uri }) =>
    facet(text, start, part, { $type: 'app.bsky.richtext.facet#link', uri }),
  )
  const mentions = [...text.matchAll(MENTION)].flatMap((match) => {
    const did = dids[(match[1] ?? '').toLowerCase()]
    return did === undefined
      ? []
      : [facet(text, match.index, match[0], { $type: 'app.bsky.richtext.facet#mention', did })]
  })
  const tags = [...text.matchAll(TAG)].flatMap((match) => {
    const tag = (match[1] ?? '').replace(/(?<!\p{P})\p{P}+$/u, '')
    if (tag === '' || Array.from(tag).length > MAX_TAG_CHARACTERS) return []
    return [facet(text, match.index, `#${tag}`, { $type: 'app.bsky.richtext.facet#tag', tag })]
  })
  return [...links, ...mentions, ...tags].toSorted((a, b) => a.index.byteStart - b.index.byteStart)
}

/** The first link of a text, which gets the card; undefined without one. */
export function firstLink(text: string): string | undefined {
  return linksOf(text)[0]?.uri
}

function linksOf(text: string): readonly { readonly part: string; readonly start: number; readonly uri: string }[] {
  return [...text.matchAll(LINK)].flatMap(({ 0: found, groups, index: start }) => {
    const part = withoutPunctuation(found)
    const domain = groups?.['domain']
    if (domain !== undefined && !TOP_LEVEL.has(domain.slice(domain.lastIndexOf('.') + 1).toLowerCase())) return []
    const uri = domain === undefined ? part : `https://${part}`
    return URL.canParse(uri) ? [{ part, start, uri }] : []
  })
}

function facet(text: string, start: number, part: string, feature: Feature): Facet {
  const byteStart = Buffer.byteLength(text.slice(0, start))
  // The hash sign can be the full-width one, which has more bytes.
  const end = start + part.length
  return { index: { byteStart, byteEnd: byteStart + Buffer.byteLength(text.slice(start, end)) }, features: [feature] }
}
