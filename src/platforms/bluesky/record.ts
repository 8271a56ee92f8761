import { PlatformError } from '../error-kinds.ts'
import type { PublishPart, RemotePost } from '../publishing.ts'
import { facetsOf, firstLink } from './facets.ts'
import { TITLE } from './servers.ts'
import type { Blob } from './video.ts'

export const POST = 'app.bsky.feed.post'
export const GATE = 'app.bsky.feed.threadgate'

type Json = Readonly<Record<string, unknown>>

/** What a record needs beside its part. */
interface Found {
  /** The files, in order. */
  readonly blobs: readonly Blob[]
  /** The DIDs of the mentioned handles. */
  readonly dids: Readonly<Record<string, string>>
  readonly card: Card | undefined
}

/** The card of the link of a part without files. */
export interface Card {
  readonly uri: string
  readonly title: string
  readonly description: string
  readonly imageUrl?: string
  /** The picture, once it is uploaded. */
  readonly thumb?: Blob
}

/** The record of a post (lexicon app.bsky.feed.post, 2026-11). The same part and findings always make the same record. */
export function recordOf(part: PublishPart, { blobs, card, dids }: Found): Json {
  const { createdAt, options, parent, root, tags = [], text } = part
  const facets = facetsOf(text, dids)
  const labels = (options['labels'] as readonly string[] | undefined) ?? []
  const embed = embedOf(part, blobs, card)
  return {
    $type: POST,
    text,
    createdAt: new Date(createdAt).toISOString(),
    ...(facets.length > 0 && { facets }),
    ...(options['langs'] !== undefined && { langs: options['langs'] }),
    ...(parent && { reply: { root: refOf(root ?? parent), parent: refOf(parent) } }),
    ...(embed && { embed }),
    ...(labels.length > 0 && {
      labels: { $type: 'com.atproto.label.defs#selfLabels', values: labels.map((val) => ({ val })) },
    }),
    ...(tags.length > 0 && { tags }),
  }
}

/** Who can reply; undefined for everybody. */
export function gateOf({ createdAt, options, role }: PublishPart, uri: string): Json | undefined {
  const allowed = options['replies'] as readonly string[] | undefined
  if (allowed === undefined || role !== 'post') return undefined
  const rules: Readonly<Record<string, string>> = {
    mentioned: `${GATE}#mentionRule`,
    followers: `${GATE}#followerRule`,
    following: `${GATE}#followingRule`,
  }
  return {
    $type: GATE,
    post: uri,
    allow: allowed.map((name) => ({ $type: rules[name] })),
    createdAt: new Date(createdAt).toISOString(),
  }
}

/** A reference to a post that includes its content. @throws PlatformError when the post was not published by Crier */
function refOf({ id, ids }: RemotePost): Json {
  const cid = ids?.['cid']
  if (cid === undefined) {
    throw new PlatformError('unsupported', TITLE, { detail: `the cid of ${id} is unknown`, mayHaveHappened: false })
  }
  return { uri: id, cid }
}

function embedOf(
  { media, options, title }: PublishPart,
  blobs: readonly Blob[],
  card: Card | undefined,
): Json | undefined {
  const [first] = media
  if (first?.kind === 'video') {
    const alt = first.altText === undefined ? {} : { alt: first.altText }
    return { $type: 'app.bsky.embed.video', video: blobs[0], ...alt, ...aspectOf(first) }
  }
  if (first !== undefined) {
    const images = media.map((file, index) => ({ alt: file.altText ?? '', image: blobs[index], ...aspectOf(file) }))
    return { $type: 'app.bsky.embed.images', images }
  }
  if (card === undefined) return undefined
  const text = (name: string) => (typeof options[name] === 'string' ? options[name] : undefined)
  const external = {
    uri: card.uri,
    title: text('cardTitle') ?? title ?? card.title,
    description: text('cardDescription') ?? card.description,
    ...(card.thumb && { thumb: card.thumb }),
  }
  return { $type: 'app.bsky.embed.external', external }
}

/** The link of a part that gets a card: its own, or else the first one in its text. */
export function cardLinkOf({ link, media, text }: PublishPart): string | undefined {
  if (media.length > 0) return undefined
  return link === undefined || link === '' ? firstLink(text) : link
}

function aspectOf({ height, width }: { width?: number; height?: number }): Json {
  return width === undefined || height === undefined ? {} : { aspectRatio: { width, height } }
}
