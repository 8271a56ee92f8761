import type { PostContent } from '../content.ts'
import type { ContentRefusal } from '../platform.ts'

/** A quote has no media (docs.x.com, Create Post, 2026-11). */
export function refusals({ media, options }: PostContent): readonly ContentRefusal[] {
  if (options['quote_tweet_id'] === undefined || media.length === 0) return []
  return [
    {
      pointer: '/options/quote_tweet_id',
      message: 'X takes no files in a post that quotes another one.',
      fix: 'Remove the files, or leave out `quote_tweet_id`.',
    },
  ]
}
