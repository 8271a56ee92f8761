import { Provided } from '../../../core/provided.ts'
import type { Services } from '../../../core/services.ts'
import type { Foundation } from '../../../foundation.ts'
import type { ApprovalGate } from './approval/gate.ts'
import { assetUses } from './asset-uses.ts'
import { countsOfPosts } from './counts.ts'
import { PostReader } from './reader.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly posts: ReturnType<typeof composePosts>['services']['posts']
  }
}

/** Builds the services of posts. */
export function composePosts(
  { database: sql, searches }: Foundation,
  { assets, workspaces }: Pick<Services, 'assets' | 'workspaces'>,
) {
  workspaces.counts.register(countsOfPosts)
  assets.uses.register(assetUses)
  return {
    services: {
      posts: {
        /** Set by the domain of approvals. */
        approvals: new Provided<ApprovalGate>('approvals of posts'),
        reader: new PostReader(sql, searches),
      },
    },
  }
}
