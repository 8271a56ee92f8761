import type { PostContent } from '../content.ts'
import type { ContentRefusal } from '../platform.ts'
import { pollOf } from '../polls.ts'

/** The question of a poll has no markup but for custom emoji (core.telegram.org/bots/api#sendpoll, 2026-11). */
export function refusals({ options }: PostContent): readonly ContentRefusal[] {
  if (pollOf(options) === undefined || options['parse_mode'] === undefined) return []
  const message = 'The question of a poll at Telegram has no markup.'
  return [{ pointer: '/options/parse_mode', message, fix: 'Leave out `parse_mode` or `poll`.' }]
}
