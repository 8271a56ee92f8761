import type { Services } from '../../../core/services.ts'
import type { Foundation } from '../../../foundation.ts'
import { RemoteChanges } from './edits/remote-changes.ts'
import { RemoteWorker } from './edits/worker.ts'
import { PostBin } from './removal/bin.ts'
import { PostRemoval } from './removal/removal.ts'
import { PostRestoring } from './removal/restoring.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly remote: ReturnType<typeof composeRemote>['services']['remote']
  }
}

/** Builds the services that change and delete published posts. Provides the edits that writing declares. */
export function composeRemote(
  { clock, database: sql, turns }: Foundation,
  { socialAccounts, writing }: Pick<Services, 'socialAccounts' | 'writing'>,
) {
  const changes = new RemoteChanges(clock, socialAccounts.directory)
  writing.edits.provide(changes)
  return {
    services: {
      remote: {
        changes,
        worker: new RemoteWorker(clock, turns, socialAccounts.calls),
        removal: new PostRemoval(clock, writing.actions, changes),
        bin: new PostBin(sql, clock),
        restoring: new PostRestoring(sql, clock),
      },
    },
  }
}
