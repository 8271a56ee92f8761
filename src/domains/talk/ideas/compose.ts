import type { Services } from '../../../core/services.ts'
import type { Foundation } from '../../../foundation.ts'
import { assetUses } from './asset-uses.ts'
import { IdeaBoards } from './boards.ts'
import { IdeaComments } from './comments.ts'
import { IdeaConversion } from './conversion.ts'
import { IdeaService } from './ideas.ts'
import { IdeaLists } from './list.ts'
import { IdeaVotes } from './votes.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly ideas: ReturnType<typeof composeIdeas>['services']['ideas']
  }
}

/** Builds the services of the domain. */
export function composeIdeas(
  { clock, database: sql }: Foundation,
  { assets, writing }: Pick<Services, 'assets' | 'writing'>,
) {
  assets.uses.register(assetUses)
  const service = new IdeaService(sql, clock)
  const ideas = {
    service,
    boards: new IdeaBoards(sql, clock),
    lists: new IdeaLists(sql),
    votes: new IdeaVotes(clock, service),
    comments: new IdeaComments(sql, clock),
    conversion: new IdeaConversion(service, writing),
  }
  return { services: { ideas } }
}
