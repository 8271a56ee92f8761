import type { AccountContext, LiveCapabilities } from '../platform.ts'
import { call } from './graph.ts'
import { profileOf } from './profile.ts'

interface PublishingLimit {
  readonly data?: readonly {
    readonly quota_usage?: number
    readonly config?: { readonly quota_total?: number; readonly quota_duration?: number }
  }[]
}

/** The quota of posts (Content publishing limit, 2026-11), and what the account lacks. @throws PlatformError */
export async function capabilities(context: AccountContext): Promise<LiveCapabilities> {
  const { scopes } = context.credential
  const lacks = (scope: string) => scopes?.includes(scope) === false
  const missing = (scope: string) => `Instagram has not granted ${scope}. Connect the account again and allow it.`
  const { kind } = await profileOf(context)
  if (kind === 'personal') {
    const publish = 'Instagram takes posts for business and creator accounts only. Switch the account in its settings.'
    return { limits: {}, blocked: { publish }, details: {} }
  }
  const publish = 'instagram_business_content_publish'
  const comment = 'instagram_business_manage_comments'
  const blocked = {
    ...(lacks(publish) && { publish: missing(publish) }),
    ...(lacks(comment) && { comment: missing(comment) }),
  }
  if (lacks(publish)) return { limits: {}, blocked, details: {} }
  const { data: [limit] = [] } = (await call(context, `${context.remoteId}/content_publishing_limit`, {
    query: { fields: 'quota_usage,config' },
  })) as PublishingLimit
  const { quota_duration: seconds, quota_total: total } = limit?.config ?? {}
  return {
    limits: { ...(total !== undefined && { 'posts.perDay': total }) },
    blocked,
    details: { quotaUsage: limit?.quota_usage ?? 0, quotaTotal: total ?? null, quotaSeconds: seconds ?? null },
  }
}
