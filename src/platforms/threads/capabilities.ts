import type { AccountContext, LiveCapabilities } from '../platform.ts'
import { call } from './graph.ts'

interface Quota {
  readonly quota_total?: number
}

interface PublishingLimit {
  readonly data?: readonly {
    readonly quota_usage?: number
    readonly config?: Quota
    readonly reply_quota_usage?: number
    readonly reply_config?: Quota
  }[]
}

/** The quotas of posts and replies (Threads publishing limit, 2026-11), and what the profile lacks. @throws PlatformError */
export async function capabilities(context: AccountContext): Promise<LiveCapabilities> {
  const { scopes } = context.credential
  const lacks = (scope: string) => scopes?.includes(scope) === false
  const missing = (scope: string) => `Threads has not granted ${scope}. Connect the account again and allow it.`
  const replies = missing('threads_manage_replies')
  const blocked = {
    ...(lacks('threads_content_publish') && { publish: missing('threads_content_publish') }),
    ...(lacks('threads_manage_replies') && { thread: replies, comment: replies }),
    ...(lacks('threads_delete') && { remove: missing('threads_delete') }),
  }
  if (lacks('threads_content_publish')) return { limits: {}, blocked, details: {} }
  const fields = `quota_usage,config${lacks('threads_manage_replies') ? '' : ',reply_quota_usage,reply_config'}`
  const { data: [limit = {}] = [] } = (await call(context, `${context.remoteId}/threads_publishing_limit`, {
    query: { fields },
  })) as PublishingLimit
  const { config, quota_usage: used, reply_config: replyConfig, reply_quota_usage: repliesUsed } = limit
  return {
    limits: {
      ...(config?.quota_total !== undefined && { 'posts.perDay': config.quota_total }),
      ...(replyConfig?.quota_total !== undefined && { 'replies.perDay': replyConfig.quota_total }),
    },
    blocked,
    details: { quotaUsage: used ?? 0, ...(repliesUsed !== undefined && { replyQuotaUsage: repliesUsed }) },
  }
}
