import type { MediaWork } from '../media/work/types.ts'
import type { Config } from './config/config.ts'
import type { Coordination } from './coordination/coordination.ts'
import type { Clock } from './core/clock.ts'
import type { Jobs } from './core/job.ts'
import type { Logger } from './core/log.ts'
import type { SignedLinks } from './core/signed-links.ts'
import type { TurnRunner } from './core/system-turn.ts'
import type { WorkspaceLogs } from './core/workspace-logs.ts'
import type { Database } from './db/database.ts'
import type { RowOwners } from './db/owners.ts'
import type { Searches } from './db/searches.ts'
import type { MailLimits } from './mail/limits.ts'
import type { Storage } from './storage/storage.ts'

/**
 * What every domain stands on: the services of the layers below. A domain is composed by a function
 * `composeX(foundation, others)`, where `others` names the services of other domains that it uses.
 * `src/server/foundation.ts` builds it, once per node.
 */
export interface Foundation {
  readonly config: Config
  readonly log: Logger
  readonly clock: Clock
  readonly database: Database
  readonly coordination: Coordination
  /** The installation's secret, from which every other key is derived. */
  readonly secret: string
  /** A folder for temporary files of this node. It is empty when the node starts. */
  readonly scratch: string
  readonly jobs: Jobs
  readonly turns: TurnRunner
  /** Audit entries and events, which turns write. */
  readonly logs: WorkspaceLogs
  readonly owners: RowOwners
  readonly searches: Searches
  readonly storage: Storage
  readonly links: SignedLinks
  readonly mailLimits: MailLimits
  /** Work on media files. Its processes start with the first call. */
  readonly mediaWork: () => Promise<MediaWork>
}
