import type { Sql } from '../../../core/sql.ts'
import { publishedTexts } from '../../publishing/posts/index.ts'
import type { PastStyle } from './providers/provider.ts'
import { rankHashtags, type PastText } from './text/hashtags.ts'
import { emojiIn } from './text/polish.ts'
import { closingOf } from './text/style.ts'

/** Published posts that show how a workspace writes. */
const POSTS = 200
const EXAMPLES = 5
const EMOJI = 5

/** What captions and styles learn from the published posts of a workspace. */
export class PastReader {
  readonly #sql: Sql

  constructor(sql: Sql) {
    this.#sql = sql
  }

  /** The newest published posts with a text. */
  texts(workspaceId: string): Promise<PastText[]> {
    return publishedTexts(this.#sql, workspaceId, POSTS)
  }

  async style(workspaceId: string): Promise<PastStyle> {
    const posts = await this.texts(workspaceId)
    const emoji = new Map<string, number>()
    for (const one of posts.flatMap(({ text }) => emojiIn(text))) emoji.set(one, (emoji.get(one) ?? 0) + 1)
    return {
      examples: posts.slice(0, EXAMPLES).map(({ text }) => text),
      hashtags: rankHashtags(posts),
      closing: closingOf(posts)?.text ?? null,
      emoji: [...emoji]
        .toSorted((a, b) => b[1] - a[1])
        .slice(0, EMOJI)
        .map(([one]) => one),
    }
  }
}
