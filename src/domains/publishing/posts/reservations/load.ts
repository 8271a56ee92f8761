import { findPlatform } from '../../../../platforms/registry.ts'
import { costOf } from '../../../../platforms/rules/prices.ts'
import { bodyFor } from '../content.ts'
import type { PostBody, TargetOverride } from '../schemas.ts'

/** How much a target takes of the budgets of its account, beside the post itself. */
export interface TargetLoad {
  /** Parts of the thread and the first comment. */
  readonly replies: number
  /** What the platform charges, in millionths of its currency. */
  readonly costMicros: number
}

/** What the post of an account takes of its budgets. */
export function loadOf(body: PostBody, override: TargetOverride | null, platform: string): TargetLoad {
  const { content, firstComment, link, thread } = bodyFor(body, override)
  const comment = firstComment ?? ''
  const replies = thread.length + (comment === '' ? 0 : 1)
  const prices = findPlatform(platform)?.prices
  if (prices === undefined) return { replies, costMicros: 0 }
  const parts = thread.map((part) => ({ text: part.content, media: [] }))
  const cost = costOf(
    { prices },
    { text: content, media: [], thread: parts, link: link ?? '', firstComment: comment, options: {} },
  )
  return { replies, costMicros: Math.round((cost?.amount ?? 0) * 1e6) }
}
