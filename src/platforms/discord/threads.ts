import type { PostContent } from '../content.ts'
import type { AccountContext, ContentRefusal, Credential, Place } from '../platform.ts'
import type { RemotePost } from '../publishing.ts'
import type { Limits } from '../rules/limits.ts'
import { call, webhookOf } from './call.ts'

/** Why an account cannot write posts in forums. */
export const NO_FORUM = 'A bot of Crier publishes to channels and threads. For posts in a forum, connect its webhook.'

/**
 * A message goes to a thread, or begins one as a post in a forum (docs.discord.com/developers/resources/webhook,
 * Execute Webhook, and the error codes 220001 to 220003, 2026-11).
 */
export function threadRefusals({ options }: Pick<PostContent, 'options'>, limits?: Limits): readonly ContentRefusal[] {
  const { applied_tags: tags, thread_id: id, thread_name: name } = options
  const found: ContentRefusal[] = []
  const blocked = limits?.blocked['forum']
  if (name !== undefined && blocked !== undefined) {
    found.push({ pointer: '/options/thread_name', message: blocked, fix: 'Leave out `thread_name`.' })
  }
  if (name !== undefined && id !== undefined) {
    const message = 'A message at Discord goes to a thread or begins one.'
    found.push({ pointer: '/options/thread_name', message, fix: 'Leave out `thread_id` or `thread_name`.' })
  }
  if (name === undefined && Array.isArray(tags) && tags.length > 0) {
    const message = 'Only a new post in a forum has tags at Discord.'
    found.push({ pointer: '/options/applied_tags', message, fix: 'Leave out `applied_tags`, or set `thread_name`.' })
  }
  return found
}

/** The thread of a post that is published; undefined in the main part of its channel. */
export function threadOf(post: RemotePost): string | undefined {
  return post.ids?.['thread']
}

/** The thread that the options name. */
export function threadIn(options: PostContent['options']): string | undefined {
  const id = options['thread_id']
  return typeof id === 'string' ? id : undefined
}

/** The open threads of the channel of a bot (docs.discord.com, List Active Guild Threads, 2026-11). @throws PlatformError */
export async function threadsOf(
  context: AccountContext & { readonly credential: Credential },
): Promise<readonly Place[]> {
  const { channel, guild } = context.credential
  if (webhookOf(context.credential) !== undefined || typeof guild !== 'string') return []
  const { threads } = await call<{ threads: readonly { id: string; name: string; parent_id?: string | null }[] }>(
    context,
    `/guilds/${guild}/threads/active`,
  )
  return threads
    .filter(({ parent_id: parent }) => parent === channel)
    .map(({ id, name }) => ({
      id,
      name,
      kind: 'thread',
      url: `https://discord.com/channels/${guild}/${id}`,
    }))
}
