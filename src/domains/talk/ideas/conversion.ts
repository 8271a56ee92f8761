import type { Services } from '../../../core/services.ts'
import type { Turn } from '../../../core/turn.ts'
import { increment } from '../../../db/increment.ts'
import { findPostView, type PostData } from '../../publishing/posts/index.ts'
import { findIdea, type IdeaService } from './ideas.ts'
import { filesOf } from './views.ts'

/** Makes drafts of ideas. */
export class IdeaConversion {
  readonly #service: IdeaService
  readonly #author: Services['writing']['author']
  readonly #settings: Services['writing']['settings']

  constructor(service: IdeaService, { author, settings }: Pick<Services['writing'], 'author' | 'settings'>) {
    this.#service = service
    this.#author = author
    this.#settings = settings
  }

  /**
   * Makes a draft of an idea, with its files and what the settings of the user add. An idea has one draft: it is made again only if it was deleted.
   * @throws AppError not_found
   */
  async convert(turn: Turn, id: string, userId: string): Promise<{ post: PostData; isNew: boolean }> {
    const idea = await findIdea(turn.sql, id)
    const known = idea.postId === null ? undefined : await findPostView(turn.sql, idea.postId)
    if (known !== undefined) {
      turn.audit({ kind: 'idea', id, details: { postId: known._id } })
      return { post: known, isNew: false }
    }
    const { description, title, workspaceId } = idea
    const files = await filesOf(turn.sql, workspaceId, idea.assetIds)
    const media = idea.assetIds.filter((assetId) => files.has(assetId))
    const content = description === '' ? title : `${title}\n\n${description}`
    const given = { workspaceId, title, content, media, draft: true }
    const input = await this.#settings.apply(given, userId, { sql: turn.sql })
    const origin = { userId, ideaId: id }
    const post = await this.#author.add(turn, await this.#author.build(turn, input, origin))
    await this.#service.save(turn, idea, { postId: post._id, version: increment() })
    turn.audit({ kind: 'idea', id, details: { postId: post._id } })
    return { post, isNew: true }
  }
}
