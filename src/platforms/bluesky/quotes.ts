import { PlatformError } from '../error-kinds.ts'
import type { PublishContext, PublishPart } from '../publishing.ts'
import { resolveHandle } from './identity.ts'
import { POST } from './record.ts'
import { TITLE } from './servers.ts'
import { query } from './xrpc.ts'

/** A reference to a post that includes its content (lexicon com.atproto.repo.strongRef, 2026-11). */
export interface Quoted {
  readonly uri: string
  readonly cid: string
}

type Json = Readonly<Record<string, unknown>>

/** The address of a post in an app, or its at-uri. */
export const QUOTE_PATTERN = String.raw`^(?:https://[^/\s]+/profile/[^/\s]+/post/|at://[^/\s]+/app\.bsky\.feed\.post/)[\w.:~-]{1,512}/?$`

interface Found extends Quoted {
  readonly viewer?: { readonly embeddingDisabled?: boolean }
}

/**
 * The post that a part quotes; undefined if it quotes none. It is looked up once, and the record that quotes it is kept in
 * the state of the attempt, so a repeated put is the same record.
 * @throws PlatformError validation when the post does not exist, or when its author does not let others quote it
 */
export async function quotedBy(context: PublishContext, { options, role }: PublishPart): Promise<Quoted | undefined> {
  const quote = options['quote']
  if (typeof quote !== 'string' || role !== 'post') return undefined
  const [, name = '', rkey = ''] = /^(?:at:\/\/|https:\/\/[^/]+\/profile\/)([^/]+)\/.*?([^/]+)\/?$/.exec(quote) ?? []
  const did = name.startsWith('did:') ? name : await resolveHandle(context, name)
  if (did === undefined) throw refusal('quote_not_found', `There is no account “${name.slice(0, 100)}”.`)
  const { posts } = await query<{ posts: readonly Found[] }>(context, 'app.bsky.feed.getPosts', {
    uris: `at://${did}/${POST}/${rkey}`,
  })
  const [post] = posts
  if (post === undefined) throw refusal('quote_not_found', 'The post to quote does not exist.')
  if (post.viewer?.embeddingDisabled === true) {
    throw refusal('quote_disabled', 'The author of the post does not let others quote it.')
  }
  return { uri: post.uri, cid: post.cid }
}

/** A record that quotes a post beside its files or its card (lexicons app.bsky.embed.record and recordWithMedia, 2026-11). */
export function withQuote(record: Json, quoted: Quoted | undefined): Json {
  if (quoted === undefined) return record
  const quote = { $type: 'app.bsky.embed.record', record: quoted }
  const media = record['embed']
  const embed = media === undefined ? quote : { $type: 'app.bsky.embed.recordWithMedia', record: quote, media }
  return { ...record, embed }
}

function refusal(code: string, detail: string): PlatformError {
  return new PlatformError('validation', TITLE, { code, detail, mayHaveHappened: false })
}
